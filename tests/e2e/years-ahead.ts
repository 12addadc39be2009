/** Loaded before a service: its wall clock is years ahead, as after a faulty time server or clock chip. */
const yearMs = 365 * 86_400_000;
const right = Date.now.bind(Date);
Date.now = () => right() + 5 * yearMs;
