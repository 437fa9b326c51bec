export const planNames = ['free', 'pro', 'business', 'enterprise'] as const
export type Plan = (typeof planNames)[number]

export type Limits = { perMinute: number; perDay: number }
/** Everything a plan limits: requests, and the event streams that are open on one instance. */
export type KeyLimits = Limits & { streams: number }

export const planLimits: Record<Plan, KeyLimits> = {
  free: { perMinute: 60, perDay: 1_000, streams: 2 },
  pro: { perMinute: 300, perDay: 10_000, streams: 10 },
  business: { perMinute: 1_000, perDay: 100_000, streams: 50 },
  enterprise: { perMinute: 10_000, perDay: 1_000_000, streams: 1_000 },
}

/** The highest request limit that an enterprise key can have. */
export const customLimitMax = 1_000_000_000
/** The same as the number of streams that one instance serves. */
export const customStreamsMax = 5_000

/** The limits of a key. Only an enterprise key can override the limits of its plan. */
export const effectiveLimits = (
  plan: Plan,
  overrides: { readonly [Name in keyof KeyLimits]?: number | null | undefined },
): KeyLimits => {
  const { perMinute, perDay, streams } = planLimits[plan]
  if (plan !== 'enterprise') return planLimits[plan]
  return {
    perMinute: overrides.perMinute ?? perMinute,
    perDay: overrides.perDay ?? perDay,
    streams: overrides.streams ?? streams,
  }
}
