import { useState } from 'preact/hooks'
import { now } from '../../app/clock.ts'
import { formatCount } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { store } from '../../app/store.ts'
import { type RangeName, totalOf, usageBars, usageRanges } from '../../app/usage.ts'
import { Card } from '../../components/Card.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { Segments } from '../../components/Segments.tsx'
import { UsageChart } from '../../components/UsageChart.tsx'

const pollMs = 10_000

const options = Object.entries(usageRanges).map(([value, { name }]) => ({
  value: value as RangeName,
  label: name,
}))

/** The requests of all keys. */
export function RequestsCard() {
  const [rangeName, setRangeName] = useState<RangeName>('hour')
  const usage = useResource((signal) => store.usage.get({ signal }))
  usePolling(usage, pollMs)
  const { data } = usage
  const range = usageRanges[rangeName]
  const bars = data && usageBars(data, range, now())
  return (
    <Card
      title="Requests"
      text={`Of all keys, per ${range.step}${bars ? `. ${share(totalOf(bars))}` : ''}`}
      actions={
        <Segments label="Time" options={options} value={rangeName} onValue={(name) => setRangeName(name)} />
      }
    >
      <ResourceView resource={usage} name="requests" rows={4}>
        {() => bars && <UsageChart bars={bars} rangeName={rangeName} />}
      </ResourceView>
    </Card>
  )
}

const share = ({ requests, errors }: { requests: number; errors: number }): string =>
  errors === 0 ? 'No errors.' : `${formatCount(errors)} of ${formatCount(requests)} failed.`
