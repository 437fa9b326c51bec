import { formatCount, formatDateTime, formatDay, formatTime, pluralize } from '../app/format.ts'
import { type RangeName, totalOf, type UsageBar, usageRanges } from '../app/usage.ts'
import { Chart } from './Chart.tsx'

type UsageChartProps = { bars: readonly UsageBar[]; rangeName: RangeName; heightPx?: number }

/** Requests over time, with those that were rejected and those that failed. */
export function UsageChart({ bars, rangeName, heightPx = 220 }: UsageChartProps) {
  const range = usageRanges[rangeName]
  const total = totalOf(bars)
  const values = (read: (bar: UsageBar) => number) => bars.map(read)
  return (
    <div class="usage-chart">
      <Chart
        label={`Requests per ${range.step}, last ${range.name}: ${pluralize(total.requests, 'request')}, ${formatCount(total.rejected)} rejected, ${pluralize(total.errors, 'error')}. The table below has the values.`}
        times={values(({ at }) => at)}
        series={[
          { name: 'Requests', tone: 'chart', values: values(({ requests }) => requests) },
          {
            name: 'Rejected',
            tone: 'chart-warning',
            values: values(({ rejected }) => rejected),
            heights: values(({ rejected, errors }) => rejected + errors),
          },
          { name: 'Errors', tone: 'chart-danger', values: values(({ errors }) => errors) },
        ]}
        heightPx={heightPx}
        formatTime={rangeName === 'month' ? formatDay : formatTime}
      />
      <UsageTable bars={bars} step={range.step} />
    </div>
  )
}

function UsageTable({ bars, step }: { bars: readonly UsageBar[]; step: string }) {
  const rows = bars.filter(({ requests }) => requests > 0).reverse()
  return (
    <details class="chart-table">
      <summary>Show as a table</summary>
      {rows.length === 0 ? (
        <p class="muted">There were no requests in this time.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="chart-table-scroll" tabIndex={0} aria-label="Requests, scrollable">
          <table class="table">
            <caption class="visually-hidden">Requests per {step}, newest first</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                {['Requests', 'Rejected', 'Errors'].map((name) => (
                  <th key={name} scope="col" class="numeric">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ at, requests, rejected, errors }) => (
                <tr key={at}>
                  <td>{formatDateTime(at)}</td>
                  {[requests, rejected, errors].map((count, index) => (
                    <td key={index} class="numeric">
                      {formatCount(count)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}
