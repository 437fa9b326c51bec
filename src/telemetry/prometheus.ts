type Labels = Readonly<Record<string, string | number>>

/** One value of a metric. A histogram has several under one name, with suffixes. */
export type Sample = readonly [labels: Labels, value: number, suffix?: string]

/** A metric in the text format of Prometheus. */
export function metricText(
  type: 'counter' | 'gauge' | 'histogram',
  name: string,
  help: string,
  samples: Iterable<Sample>,
): string {
  let text = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`
  for (const [labels, value, suffix = ''] of samples)
    text += `${name}${suffix}${labelText(labels)} ${numberText(value)}\n`
  return text
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  )
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

const numberText = (value: number): string =>
  String(value).replace(/^(-?)Infinity$/, (_, sign) => `${sign || '+'}Inf`)
