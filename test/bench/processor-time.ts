import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc: 100 on every Linux there is. */
const TICKS_PER_SECOND = 100;

/** Seconds of processor time by part. Other programs on the machine do not count into it, as they do into throughput. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** What these processes, each with its children that are no parts themselves, have used so far; empty where there is no /proc. */
export function processorTime(parts: Readonly<Record<string, number>>): ProcessorTime {
  const processes = listProcesses();
  const named = new Set(Object.values(parts));
  const secondsOf = (pid: number): number => {
    const children = processes.filter((child) => child.parent === pid && !named.has(child.pid));
    const own = processes.find((process) => process.pid === pid)?.ticks ?? 0;
    return own / TICKS_PER_SECOND + children.reduce((sum, child) => sum + secondsOf(child.pid), 0);
  };
  return Object.fromEntries(Object.entries(parts).map(([name, pid]) => [name, secondsOf(pid)]));
}

function listProcesses(): { pid: number; parent: number; ticks: number }[] {
  let names: string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The command's name, in parentheses, may hold anything: fields are counted from behind it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(name), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
    } catch {
      return []; // it ended while we looked
    }
  });
}
