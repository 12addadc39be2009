/** Default payloads of availability messages, of a device or of Setpoint [points §3.2]. */
export const presenceWords = { online: 'online', offline: 'offline' } as const;
