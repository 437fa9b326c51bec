import assert from 'node:assert/strict'

type Sample = { readonly name: string; readonly labels: Record<string, string>; readonly value: number }
type Family = { readonly type: string; readonly help: string; readonly samples: Sample[] }

/** The metrics that other systems do not have. */
export const linuxMetrics = [
  'process_virtual_memory_bytes',
  'process_heap_bytes',
  'process_open_fds',
  'process_max_fds',
]

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}
const labelPattern = /([a-zA-Z_]\w*)="((?:\\[\\"n]|[^\\"\n])*)"(?:,(?!\})|(?=\}))/y

/** The metrics of a text in the format of Prometheus, by name. Fails on every deviation from the format. */
export function parsePrometheus(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'The last line has no end.')
  const families = new Map<string, Family>()
  const lines = text.slice(0, -1).split('\n')
  for (let index = 0; index < lines.length; ) {
    const [, name = '', help = ''] =
      /^# HELP ([a-zA-Z_:][\w:]*) ((?:\\[\\n]|[^\\])*)$/.exec(lines[index] ?? '') ?? []
    assert.notEqual(name, '', `Not a HELP line: ${lines[index]}`)
    assert.ok(!families.has(name), `${name} is described twice.`)
    const [, type = ''] =
      new RegExp(`^# TYPE ${name} (counter|gauge|histogram)$`).exec(lines[index + 1] ?? '') ?? []
    assert.notEqual(type, '', `Not the TYPE line of ${name}: ${lines[index + 1]}`)
    const samples: Sample[] = []
    for (index += 2; index < lines.length && !lines[index]?.startsWith('#'); index++)
      samples.push(parseSample(lines[index] ?? '', name, suffixes[type] ?? []))
    const keys = samples.map(
      (sample) => `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`,
    )
    assert.equal(new Set(keys).size, keys.length, `${name} has the same sample twice.`)
    if (type === 'counter') assert.match(name, /_total$/)
    if (type === 'histogram') checkHistogram(name, samples)
    families.set(name, { type, help, samples })
  }
  return families
}

function parseSample(line: string, family: string, allowed: readonly string[]): Sample {
  const name = /^[a-zA-Z_:][\w:]*/.exec(line)?.[0] ?? ''
  assert.ok(
    name.startsWith(family) && allowed.includes(name.slice(family.length)),
    `Not of ${family}: ${line}`,
  )
  const labels: Record<string, string> = {}
  let at = name.length
  if (line[at] === '{') {
    labelPattern.lastIndex = at + 1
    for (let match = labelPattern.exec(line); match; match = labelPattern.exec(line)) {
      const [, label = '', value = ''] = match
      assert.ok(!(label in labels), `The label ${label} is there twice: ${line}`)
      labels[label] = value.replaceAll(/\\(.)/g, (_, next) => (next === 'n' ? '\n' : next))
      at = labelPattern.lastIndex
    }
    assert.equal(line[at], '}', `The labels are not valid: ${line}`)
    at++
  }
  const [, number = ''] = /^ (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/.exec(line.slice(at)) ?? []
  assert.notEqual(number, '', `The value is not valid: ${line}`)
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) }
}

/** The buckets of each series grow, and the last one has everything. */
function checkHistogram(family: string, samples: readonly Sample[]): void {
  const series = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  for (const [labels, own] of series) {
    const buckets = own.filter(({ name }) => name === `${family}_bucket`)
    const bounds = buckets.map(({ labels: { le = '' } }) => Number(le.replace('Inf', 'Infinity')))
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      labels,
    )
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, labels)
    const counts = buckets.map(({ value }) => value)
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      labels,
    )
    assert.equal(own.find(({ name }) => name === `${family}_count`)?.value, counts.at(-1), labels)
    assert.equal(own.filter(({ name }) => name === `${family}_sum`).length, 1, labels)
  }
}
