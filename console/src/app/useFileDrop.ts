import { useEffect, useRef, useState } from 'preact/hooks'

/**
 * Calls back with files that are dropped anywhere: beside the right place, the browser would open them instead of the
 * console. Returns whether files are dragged over the page.
 */
export function useFileDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false)
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    const onDrag = (event: DragEvent) => {
      const { dataTransfer, type } = event
      if (!dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      // An element is left for another one, or the window is left.
      setOver(type === 'dragover' || (type === 'dragleave' && event.relatedTarget !== null))
      if (type === 'drop') latest.current(dataTransfer.files)
    }
    const types = ['dragover', 'dragleave', 'drop'] as const
    for (const type of types) document.addEventListener(type, onDrag)
    return () => {
      for (const type of types) document.removeEventListener(type, onDrag)
    }
  }, [])
  return isOver
}
