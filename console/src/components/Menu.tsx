import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './Icon.tsx'

export type MenuItem = { label: string; isDanger?: boolean; onSelect(): void }

const marginPx = 6

/** A button that opens a list of actions. */
export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)

  function place() {
    const anchor = button.current?.getBoundingClientRect()
    const menu = list.current
    if (!anchor || !menu) return
    const fitsBelow = anchor.bottom + menu.offsetHeight + marginPx < innerHeight
    menu.style.top = `${fitsBelow ? anchor.bottom + marginPx : anchor.top - menu.offsetHeight - marginPx}px`
    menu.style.left = `${Math.max(marginPx, anchor.right - menu.offsetWidth)}px`
  }
  const entries = () => [...(list.current?.querySelectorAll('button') ?? [])]
  // The items are rendered when the menu opens, so their size is known after that.
  useLayoutEffect(() => {
    if (!isOpen) return
    place()
    entries()[0]?.focus()
  }, [isOpen])
  function onKeyDown(event: KeyboardEvent) {
    const all = entries()
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    const target = {
      ArrowDown: all[(at + 1) % all.length],
      ArrowUp: all.at(at - 1),
      Home: all[0],
      End: all.at(-1),
    }[event.key]
    if (event.key === 'Tab') list.current?.hidePopover()
    if (!target) return
    event.preventDefault()
    target.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button button-quiet button-normal button-icon"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name="more" />
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        class="menu"
        onToggle={(event) => setOpen(event.newState === 'open')}
        onKeyDown={onKeyDown}
      >
        {isOpen &&
          items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={`menu-item ${item.isDanger ? 'menu-danger' : ''}`}
              onClick={() => {
                list.current?.hidePopover()
                item.onSelect()
              }}
            >
              {item.label}
            </button>
          ))}
      </div>
    </>
  )
}
