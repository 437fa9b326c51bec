import { crashes } from './crashes/crashes.ts'
import { histories } from './histories/histories.ts'
import type { Check } from './verdict.ts'

/** The parts of the run, in order. */
export const checks: readonly Check[] = [histories, crashes]
