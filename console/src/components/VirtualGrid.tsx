import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { isPrinting } from '../app/printing.ts'
import { useEnd, useKeptScroll, useViewport, type VirtualItems } from './virtual.ts'

type VirtualGridProps<T> = VirtualItems<T> & {
  /** In pixels. There are at least two columns. */
  widthMin: number
  gap: number
  /** The height of a card, by its width. */
  heightOf(width: number): number
  render(item: T): ComponentChildren
}

/** Rows above and below what is visible. */
const overscan = 2
/** The next page is loaded when fewer rows than this are left. */
const endDistance = 6

/** Cards of the same size in columns. Only those around the visible ones are in the document. */
export function VirtualGrid<T>(props: VirtualGridProps<T>) {
  const { label, length, itemAt, keyOf, onEnd, footer, widthMin, gap, heightOf, render } = props
  const isPrinted = isPrinting.value
  const container = useRef<HTMLElement>(null)
  const { top, height, width, scrollbarWidth } = useViewport(container)
  const columns = Math.max(2, Math.floor((width + gap) / (widthMin + gap)))
  const cardHeight = Math.round(heightOf((width - gap * (columns - 1)) / columns))
  const rowHeight = cardHeight + gap
  const rows = Math.ceil(length / columns)
  const firstShown = Math.min(Math.max(0, Math.floor(top / rowHeight) - overscan), Math.max(0, rows - 1))
  const first = isPrinted ? 0 : firstShown
  const last = isPrinted ? rows : Math.min(rows, Math.ceil((top + height) / rowHeight) + overscan)
  useKeptScroll(container, isPrinted)
  // The width is known after the first rendering.
  useEnd(!isPrinted && width > 0 && rows - last < endDistance, { length, onEnd })
  const shown = width === 0 ? [] : range(first * columns, Math.min(length, last * columns))
  return (
    <section
      class="table-scroll"
      ref={container}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`${label}, scrollable`}
      // The scrollbar is beside the cards, in the margin of the page.
      style={{ marginInlineEnd: `-${scrollbarWidth}px` }}
    >
      <ul
        class="grid"
        aria-label={label}
        style={{
          gap: `${gap}px`,
          gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
          gridAutoRows: `${cardHeight}px`,
          paddingTop: `${first * rowHeight}px`,
          paddingBottom: `${Math.max(0, rows - last) * rowHeight}px`,
        }}
      >
        {shown.map((index) => {
          const item = itemAt(index)
          return (
            <li key={item ? keyOf(item) : `item-${index}`} aria-setsize={length} aria-posinset={index + 1}>
              {item && render(item)}
            </li>
          )
        })}
      </ul>
      {footer}
    </section>
  )
}

const range = (start: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset)
