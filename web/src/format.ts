// Numbers and times as people read them.

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-GB");
}

export function share(value: number): string {
  return `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
}

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return value.toLocaleString("en-GB", { maximumSignificantDigits: 4 });
}

let dates = false;

export function showDates(yes: boolean): void {
  dates = yes;
}

// Seconds since 1970 are shown as dates; other clocks as numbers.
export function time(value: number): string {
  if (dates) {
    return new Date(1000 * value).toISOString().replace("T", " ").slice(0, 19);
  }
  return number(value);
}

export function rate(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} M/s`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(0)} k/s`;
  return `${count(value)}/s`;
}
