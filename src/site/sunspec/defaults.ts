/** Default settings of a SunSpec channel [points §3.4]. */
export const sunSpecDefaults = { port: 502, unit_id: 1, poll_interval_ms: 1000, timeout_ms: 1000 } as const;
