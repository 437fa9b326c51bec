import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isPrinting } from '../app/printing.ts'
import { isPhone } from '../app/viewport.ts'
import { useEnd, useKeptScroll, useViewport, type VirtualItems } from './virtual.ts'

export type Column<T> = {
  name: string
  isHiddenOnPhone?: boolean
  /** On a phone, too. */
  isHiddenOnTablet?: boolean
  isNumeric?: boolean
  /** The name is only for screen readers. */
  isNameHidden?: boolean
  /** In the head of the column, instead of the name. */
  head?: ComponentChildren
  /** A CSS width. One column has none and takes the rest. */
  width?: string
  render(item: T): ComponentChildren
}

type VirtualTableProps<T> = VirtualItems<T> & {
  columns: readonly Column<T>[]
  rowClass?(item: T): string
}

/** Equal to --row-height in tokens.css. */
const rowHeights = { desktop: 52, phone: 64 }
/** Rows above and below what is visible. */
const overscan = 8
/** The next page is loaded when fewer rows than this are left. */
const endDistance = 40

/**
 * A table that has only the rows around the visible ones in the document, however long it is. While it is printed, it has
 * all rows in memory, and no column of actions.
 */
export function VirtualTable<T>(props: VirtualTableProps<T>) {
  const { label, length, itemAt, keyOf, onEnd, footer, rowClass } = props
  const isPrinted = isPrinting.value
  const columns = props.columns.filter(({ isNameHidden }) => !(isPrinted && isNameHidden))
  const container = useRef<HTMLDivElement>(null)
  const { top, height } = useViewport(container)
  const rowHeight = isPhone.value ? rowHeights.phone : rowHeights.desktop
  const firstShown = Math.min(Math.max(0, Math.floor(top / rowHeight) - overscan), Math.max(0, length - 1))
  const first = isPrinted ? 0 : firstShown
  const last = isPrinted ? length : Math.min(length, Math.ceil((top + height) / rowHeight) + overscan)
  useKeptScroll(container, isPrinted)
  useAnchor(container, { length, topIndex: Math.floor(top / rowHeight), rowHeight }, (index) => {
    const item = itemAt(index)
    return item && keyOf(item)
  })
  useEnd(!isPrinted && length - last < endDistance, { length, onEnd })

  const rows = Array.from({ length: Math.max(0, last - first) }, (_, offset) => {
    const index = first + offset
    const item = itemAt(index)
    if (isPrinted && !item) return null
    return (
      <tr
        key={item ? keyOf(item) : `row-${index}`}
        aria-rowindex={index + 2}
        class={item && rowClass?.(item)}
      >
        {columns.map((column) => (
          <td key={column.name} class={cellClass(column)}>
            {item ? column.render(item) : <span class="skeleton" />}
          </td>
        ))}
      </tr>
    )
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table-scroll" ref={container} tabIndex={0} aria-label={`${label}, scrollable`}>
      <table class="table" aria-rowcount={length + 1}>
        <caption class="visually-hidden">{label}</caption>
        <colgroup>
          {columns.map((column) => (
            <col key={column.name} class={widthClass(column)} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={cellClass(column)}>
                {column.head ??
                  (column.isNameHidden ? <span class="visually-hidden">{column.name}</span> : column.name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first * rowHeight} />
          {rows}
          <Spacer height={(length - last) * rowHeight} />
        </tbody>
      </table>
      {footer}
    </section>
  )
}

/** It has one cell. A cell that spans more columns than are shown makes room for those that are hidden. */
const Spacer = ({ height }: { height: number }) =>
  height > 0 ? (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: the row has no content and is not focusable
    <tr class="table-spacer" aria-hidden="true">
      <td style={{ height: `${height}px` }} />
    </tr>
  ) : null

const widthClass = <T,>({ isHiddenOnPhone, isHiddenOnTablet }: Column<T>) =>
  isHiddenOnTablet ? 'wider' : isHiddenOnPhone ? 'wide' : ''

const cellClass = <T,>(column: Column<T>) => `${widthClass(column)} ${column.isNumeric ? 'numeric' : ''}`

type Anchor = { length: number; topIndex: number; rowHeight: number }
/** How far the row at the top is looked for after a change. */
const anchorDistance = 25

/** Keeps the row at the top in its place when rows are added or removed above it. */
function useAnchor(
  container: { current: HTMLElement | null },
  { length, topIndex, rowHeight }: Anchor,
  keyAt: (index: number) => string | undefined,
): void {
  const previous = useRef<(Omit<Anchor, 'rowHeight'> & { key: string | undefined }) | undefined>(undefined)
  const anchor = previous.current
  useLayoutEffect(() => {
    const element = container.current
    const isMoved = element && anchor?.key !== undefined && anchor.length !== length && anchor.topIndex > 0
    if (!isMoved || keyAt(anchor.topIndex) === anchor.key) return
    for (let distance = 1; distance <= anchorDistance; distance++) {
      const step = [distance, -distance].find((offset) => keyAt(anchor.topIndex + offset) === anchor.key)
      if (step === undefined) continue
      element.scrollTop += step * rowHeight
      return
    }
  }, [length])
  previous.current = { length, topIndex, key: keyAt(topIndex) }
}
