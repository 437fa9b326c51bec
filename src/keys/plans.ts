/** Plans, and what each allows. */

export const planNames = ['free', 'pro', 'business', 'enterprise'] as const
export type Plan = (typeof planNames)[number]

export type Limits = { perMinute: number; perDay: number }

export const planLimits: Record<Plan, Limits> = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: { perMinute: 10_000, perDay: 1_000_000 },
}

/** The most that an enterprise key can be given. */
export const ownLimitMax = 1_000_000_000
