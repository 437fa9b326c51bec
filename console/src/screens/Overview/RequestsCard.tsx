import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { formatCount } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { type RangeName, totalOf, usageBars, usageRanges } from '../../app/usage.ts'
import { Card } from '../../components/Card.tsx'
import { Loaded } from '../../components/Loaded.tsx'
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
  const usage = useResource((signal) => call('getUsage', { signal }))
  usePolling(usage, pollMs)
  const { data } = usage
  const range = usageRanges[rangeName]
  return (
    <Card
      title="Requests"
      text={`Of all keys, per ${range.step}${data ? `. ${share(totalOf(usageBars(data, range, now())))}` : ''}`}
      actions={
        <Segments label="Time" options={options} value={rangeName} onValue={(name) => setRangeName(name)} />
      }
    >
      <Loaded resource={usage} name="requests" rows={4}>
        {(loaded) => <UsageChart usage={loaded} rangeName={rangeName} />}
      </Loaded>
    </Card>
  )
}

const share = ({ requests, errors }: { requests: number; errors: number }): string =>
  errors === 0 ? 'No errors.' : `${formatCount(errors)} of ${formatCount(requests)} failed.`
