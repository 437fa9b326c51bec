import { crashes } from './crashes/crashes.ts'
import { histories } from './histories/histories.ts'
import { overload } from './overload/overload.ts'
import { slowCallers } from './slowCallers/slowCallers.ts'
import { soak } from './soak/soak.ts'
import type { Check } from './verdict.ts'

/** The parts of the run, in order: those that need the whole machine first. */
export const checks: readonly Check[] = [overload, slowCallers, soak, histories, crashes]
