/** With which a device, or Setpoint, says whether it is there, where nothing else is given [points §3.2]. */
export const presenceWords = { online: 'online', offline: 'offline' } as const;
