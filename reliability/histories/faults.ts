import { setTimeout as pause } from 'node:timers/promises'
import { pick, type Random } from './callers.ts'
import type { Cluster } from './cluster.ts'

/** Something that happens to the service. Faults are counted by their name. */
export type Fault = { readonly name: string; run(random: Random): unknown }

const pauseMs = { min: 200, max: 4_500 }

export type Range = { readonly min: number; readonly max: number }

export const between = ({ min, max }: Range, random: Random): number => min + random() * (max - min)

/** Causes the faults of a list in random order, again and again, with pauses between them. */
export async function causeFaults(
  faults: readonly Fault[],
  gapMs: Range,
  random: Random,
  isOver: () => boolean,
  note: (name: string) => void,
): Promise<void> {
  for (let left: Fault[] = []; !isOver(); ) {
    if (left.length === 0) left = [...faults]
    const fault = pick(left, random)
    left.splice(left.indexOf(fault), 1)
    await pause(between(gapMs, random))
    note(fault.name)
    await fault.run(random)
  }
}

/** What happens to instances. */
export function instanceFaults(cluster: Cluster): Fault[] {
  const any = (random: Random) => Math.floor(random() * cluster.all.length)
  const kill = { name: 'kill', run: (random: Random) => cluster.kill(any(random)) }
  const stop = {
    name: 'pause',
    run: (random: Random) => cluster.pause(any(random), between(pauseMs, random)),
  }
  const cut = {
    name: 'cut of all callers of an instance',
    run: (random: Random) => cluster.cut(any(random)),
  }
  return [kill, kill, kill, stop, cut, cut]
}
