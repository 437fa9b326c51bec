import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatCount } from '../app/format.ts'
import { isDark } from '../app/theme.ts'
import './chart.css'

type ChartSeries = {
  name: string
  tone: 'chart' | 'chart-warning' | 'chart-danger'
  values: readonly number[]
  /** Bars are drawn on top of each other, so a stacked bar gives its total height here. */
  heights?: readonly number[]
}

type ChartProps = {
  /** What the chart shows, in a sentence, for those who do not see it. */
  label: string
  /** The start of each bar, in milliseconds. */
  times: readonly number[]
  series: readonly ChartSeries[]
  heightPx?: number
  formatTime(ms: number): string
}

/** Bars over time. The values of the bar under the pointer are shown above, otherwise the totals. */
export function Chart({ label, times, series, heightPx = 220, formatTime }: ChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [index, setIndex] = useState<number>()
  const dark = isDark()
  const data = toData(times, series)
  useEffect(() => {
    const element = container.current
    if (!element) return
    const options = chartOptions(element, times, series, heightPx, formatTime, setIndex)
    const created = new uPlot(options, toData(times, series), element)
    plot.current = created
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) created.setSize({ width: element.clientWidth, height: heightPx })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [dark, heightPx, times.length, times[0]])
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)])
  return (
    <div class="chart">
      <div class="chart-legend" aria-hidden="true">
        {series.map(({ name, tone, values }) => (
          <span key={name} class="chart-entry">
            <span class="chart-swatch" style={{ background: `var(--${tone})` }} />
            {name}
            <strong>{formatCount(index === undefined ? sum(values) : (values[index] ?? 0))}</strong>
          </span>
        ))}
        <span class="chart-time">{index === undefined ? '' : formatTime(times[index] ?? 0)}</span>
      </div>
      <div ref={container} class="chart-plot" role="img" aria-label={label} />
    </div>
  )
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

const toData = (times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData => [
  times.map((ms) => ms / 1000),
  ...series.map(({ values, heights }) => [...(heights ?? values)]),
]

/** A canvas has no access to custom properties. */
function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** The smallest highest value of the scale: a single request does not fill the chart. */
const yAxisMaxAtLeast = 4

function chartOptions(
  element: HTMLElement,
  times: readonly number[],
  series: readonly ChartSeries[],
  height: number,
  formatTime: (ms: number) => string,
  onIndex: (index: number | undefined) => void,
): uPlot.Options {
  const stepS = ((times[1] ?? 0) - (times[0] ?? 0)) / 1000
  const soft = colourOf(element, 'text-soft')
  const grid = { stroke: colourOf(element, 'line'), width: 1 }
  const font = `12px ${getComputedStyle(element).fontFamily}`
  const bars = uPlot.paths.bars?.({ size: [0.72, 22], align: 1, radius: 0.12 })
  return {
    width: element.clientWidth || 600,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onIndex(cursor.idx ?? undefined)] },
    scales: {
      x: { time: true, range: (_plot, min, max) => [min, max + stepS] },
      y: { range: (_plot, _min, max) => [0, Math.max(yAxisMaxAtLeast, max * 1.08)] },
    },
    axes: [
      {
        stroke: soft,
        font,
        grid: { show: false },
        ticks: { show: false },
        size: 28,
        gap: 8,
        space: 64,
        values: (_plot, splits) => splits.map((seconds) => formatTime(seconds * 1000)),
      },
      {
        stroke: soft,
        font,
        grid,
        ticks: { show: false },
        size: (_plot, values) => 14 + 7 * Math.max(1, ...(values ?? []).map((text) => text.length)),
        gap: 8,
        space: 44,
        incrs: [1, 2, 5]
          .flatMap((unit) => [0, 1, 2, 3, 4, 5, 6].map((power) => unit * 10 ** power))
          .sort((a, b) => a - b),
        values: (_plot, splits) => splits.map(formatCount),
      },
    ],
    series: [
      {},
      ...series.map(({ tone }): uPlot.Series => {
        const colour = colourOf(element, tone)
        return {
          fill: colour,
          stroke: colour,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        }
      }),
    ],
  }
}
