import type { Call } from './interface/define.ts'

export async function run(_: Call): Promise<void> {}
