export type ProcessSample = { readonly rss: number; readonly heapUsed: number; readonly handles: number }

/** What must level off. */
export type Sample = ProcessSample & {
  readonly atSeconds: number
  readonly files: number
  readonly databaseBytes: number
  readonly rows: number
}

export type Slope = {
  readonly name: string
  readonly mean: number
  /** The growth over the second half of the run, by least squares, as a part of the mean. */
  readonly growth: number
}

const names = ['rss', 'heapUsed', 'handles', 'files', 'databaseBytes', 'rows'] as const

/** Of the second half of the samples: before that, caches fill and nothing is past its retention. */
export function slopesOf(samples: readonly Sample[]): Slope[] {
  const half = samples.slice(Math.floor(samples.length / 2))
  const seconds = half.map(({ atSeconds }) => atSeconds)
  const length = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0)
  return names.map((name) => {
    const values = half.map((sample) => sample[name])
    const mean = meanOf(values)
    return { name, mean, growth: (slopeOf(seconds, values) * length) / mean }
  })
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Least squares. */
function slopeOf(xs: readonly number[], ys: readonly number[]): number {
  const [meanX, meanY] = [meanOf(xs), meanOf(ys)]
  let [covariance, variance] = [0, 0]
  for (const [index, x] of xs.entries()) {
    covariance += (x - meanX) * ((ys[index] as number) - meanY)
    variance += (x - meanX) ** 2
  }
  return covariance / variance
}
