const updateMs = 200

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'> & { readonly columns?: number }

/** Shows how far a long command is, with rate and time left, on standard error if that is a terminal. */
export class Progress implements Disposable {
  readonly #output: Output
  readonly #startedAt = performance.now()
  readonly #label: string
  #shownAt = 0

  constructor(label: string, output: Output = process.stderr) {
    this.#label = label
    this.#output = output
  }

  /** `share` is the part that is done, from 0 to 1. Undefined if the end is not known. */
  show(done: number, unit: string, share?: number): void {
    const now = performance.now()
    if (!this.#output.isTTY || now - this.#shownAt < updateMs) return
    this.#shownAt = now
    const seconds = (now - this.#startedAt) / 1000
    // A line that wraps would not be replaced by the next one.
    const width = (this.#output.columns || 80) - 1
    this.#output.write(`\r\x1b[K${progressLine(this.#label, done, unit, seconds, share).slice(0, width)}`)
  }

  /** Removes the line. */
  [Symbol.dispose](): void {
    if (this.#output.isTTY && this.#shownAt > 0) this.#output.write('\r\x1b[K')
  }
}

export function progressLine(
  label: string,
  done: number,
  unit: string,
  seconds: number,
  share: number | undefined,
): string {
  const count = (value: number) => Math.round(value).toLocaleString('en-US')
  const rate = seconds > 0 ? `, ${count(done / seconds)} per second` : ''
  if (share === undefined || share <= 0) return `${label}: ${count(done)} ${unit}${rate}`
  const left = Math.max(0, seconds / share - seconds)
  return `${label}: ${Math.floor(share * 100)} %, ${count(done)} ${unit}${rate}, ${duration(left)} left`
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
