const whole = new Intl.NumberFormat('en');
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function count(value: number): string {
  return whole.format(Math.round(value));
}

/** A rate: a digit after the point only where it matters. */
export function rate(value: number): string {
  return value >= 100 ? count(value) : tenth.format(value);
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** @example duration(75_000) // '1 min 15 s' */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (seconds < 60) return ms < 10_000 ? `${tenth.format(ms / 1_000)} s` : `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

/** How long it has lasted, in whole seconds. @example elapsed(11_900) // '11 s' */
export function elapsed(ms: number): string {
  return ms < 1_000 ? '0 s' : duration(1_000 * Math.floor(ms / 1_000));
}

/** A rough time, which should not change with every message: never too short, or with `Math.floor` never too long. */
export function roughly(ms: number, round = Math.ceil): string {
  const seconds = ms / 1_000;
  if (seconds < 10) return `${round(seconds)} s`;
  if (seconds < 120) return duration(5_000 * round(seconds / 5));
  const minutes = seconds / 60;
  if (minutes < 60) return `${round(minutes)} min`;
  const hours = minutes / 60;
  return hours < 48 ? duration(300_000 * round(minutes / 5)) : `${round(hours / 24)} days`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB');
}

export function ago(at: number, now: number): string {
  const ms = now - at;
  return ms < 5_000 ? 'just now' : `${roughly(ms, Math.floor)} ago`;
}
