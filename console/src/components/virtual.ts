import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** What the views of long lists share. They have only the items around the visible ones in the document. */

export type VirtualItems<T> = {
  label: string
  length: number
  /** Undefined while the item is loaded. */
  itemAt(index: number): T | undefined
  keyOf(item: T): string
  /** Called when the end is near. */
  onEnd(): void
  /** Below the last item. */
  footer?: ComponentChildren
}

type Container = { readonly current: HTMLElement | null }

/** Calls `onEnd` while the end is near, also after a page was loaded. */
export function useEnd(isNearEnd: boolean, { length, onEnd }: Pick<VirtualItems<never>, 'length' | 'onEnd'>) {
  useEffect(() => {
    if (isNearEnd) onEnd()
  }, [isNearEnd, length, onEnd])
}

/** On paper nothing scrolls, and the region forgets where it was. */
export function useKeptScroll(container: Container, isPrinted: boolean): void {
  const top = useRef(0)
  useLayoutEffect(() => {
    if (!container.current) return
    if (isPrinted) top.current = container.current.scrollTop
    else container.current.scrollTop = top.current
  }, [isPrinted])
}

type Viewport = { top: number; height: number; width: number; scrollbarWidth: number }

/** What is visible of a region that scrolls. */
export function useViewport(container: Container): Viewport {
  const [viewport, setViewport] = useState({ top: 0, height: 600, width: 0, scrollbarWidth: 0 })
  useLayoutEffect(() => {
    const element = container.current
    if (!element) return
    const measure = () => {
      const { scrollTop: top, clientHeight: height, clientWidth: width } = element
      setViewport({ top, height, width, scrollbarWidth: element.offsetWidth - width })
    }
    measure()
    element.addEventListener('scroll', measure, { passive: true })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', measure)
      observer.disconnect()
    }
  }, [])
  return viewport
}
