/** Plans, and what each allows. */

export const planNames = ['free', 'pro', 'business', 'enterprise'] as const
export type Plan = (typeof planNames)[number]

export type Limits = { perMinute: number; perDay: number }
/** All that a plan limits: requests, and event streams that are open at one instance. */
export type KeyLimits = Limits & { streams: number }

export const planLimits: Record<Plan, KeyLimits> = {
  free: { perMinute: 60, perDay: 1_000, streams: 2 },
  pro: { perMinute: 300, perDay: 10_000, streams: 10 },
  business: { perMinute: 1_000, perDay: 100_000, streams: 50 },
  enterprise: { perMinute: 10_000, perDay: 1_000_000, streams: 1_000 },
}

/** The most that an enterprise key can be given. */
export const ownLimitMax = 1_000_000_000
/** As many as an instance serves in all. */
export const ownStreamsMax = 5_000
