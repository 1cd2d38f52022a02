// Numbers and times as people read them.

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-GB");
}

export function share(value: number): string {
  return `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
}

export function number(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  if (size >= 10 ** digits) return Math.round(value).toLocaleString("en-GB");
  return value.toLocaleString("en-GB", { maximumSignificantDigits: digits });
}

// A mark of an axis, short.
export function mark(value: number): string {
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e15)) return value.toExponential().replace("e+", "e");
  return value.toLocaleString("en-GB", { notation: "compact", maximumSignificantDigits: 4 });
}

export function value(found: number | string | null | undefined): string {
  return typeof found === "number" ? number(found) : (found ?? "–");
}

let dates = false;

export function showDates(yes: boolean): void {
  dates = yes;
}

export function datesShown(): boolean {
  return dates;
}

// Seconds since 1970 are shown as dates; other clocks as numbers.
export function time(when: number): string {
  if (!dates) return Math.abs(when) >= 1e9 ? when.toLocaleString("en-GB", { maximumFractionDigits: 0, useGrouping: false }) : number(when);
  return new Date(1000 * when).toISOString().replace("T", " ").slice(0, 19);
}

// Times along an axis: of a date only the part that changes.
export function times(marks: number[]): string[] {
  const step = marks.length > 1 ? marks[1]! - marks[0]! : Infinity;
  if (!dates) {
    let digits = 0;
    while (step < Infinity && digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
    return marks.map((v) => v.toLocaleString("en-GB", { maximumFractionDigits: digits, useGrouping: Math.abs(v) < 1e9 }));
  }
  const from = step >= 86400 ? 0 : 11;
  const to = step >= 86400 ? 10 : step >= 60 ? 16 : 19;
  return marks.map((v, i) => {
    const text = new Date(1000 * v).toISOString().replace("T", " ");
    const before = i ? new Date(1000 * marks[i - 1]!).toISOString() : "";
    return text.slice(text.slice(0, 10) === before.slice(0, 10) ? from : 5 * Number(from > 0), to);
  });
}

// How fast a cluster moves, in a unit of time that people use.
export function speed(perUnit: number): string {
  return dates ? `${number(3600 * perUnit, 2)} sd an hour` : `${number(perUnit, 2)} sd a unit of time`;
}

export function rate(found: number): string {
  if (found >= 1e6) return `${(found / 1e6).toFixed(1)} M`;
  if (found >= 1e4) return `${(found / 1e3).toFixed(0)} k`;
  return count(found);
}
