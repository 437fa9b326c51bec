import type { Plan } from '../../../../client/src/index.ts'
import { planLimits } from '../../../../src/limits/plans.ts'
import { formatCount, pluralize } from '../../app/format.ts'

/** "300 requests a minute, 10,000 a day, 10 event streams." */
export const describePlan = (plan: Plan): string => {
  const { perMinute, perDay, streams } = planLimits[plan]
  return `${pluralize(perMinute, 'request')} a minute, ${formatCount(perDay)} a day, ${pluralize(streams, 'event stream')}.`
}
