import { useEffect, useRef, useState } from 'preact/hooks'
import { navigate, search } from '../../app/router.ts'
import { addressOf, type Filters, filtersIn, type View, viewIn } from './filters.ts'

/** A pause in typing, before the search begins. */
const typingMs = 250

export type ToolbarValues = Filters & { readonly view: View }

const valuesInUrl = (): ToolbarValues => ({ ...filtersIn(search.value), view: viewIn(search.value) })

const write = ({ view, ...filters }: ToolbarValues): void =>
  navigate(addressOf(filters, view), { replace: true })

type Typed = Pick<Filters, 'q' | 'species'>
const typedIn = ({ q, species }: Filters): Typed => ({ q, species })
const isSame = (a: Typed, b: Typed) => a.q.trim() === b.q.trim() && a.species.trim() === b.species.trim()

/** All values are in the URL, so that a link, a reload and the way back show the same animals. */
export function useToolbar(): [ToolbarValues, (changes: Partial<ToolbarValues>) => void] {
  const inUrl = valuesInUrl()
  /** What is typed is in the URL after a pause: browsers limit how often it changes. */
  const [typed, setTyped] = useState(() => typedIn(inUrl))
  /** What this function has written to the URL. */
  const written = useRef(typed)
  useEffect(() => {
    if (isSame(inUrl, written.current)) return
    written.current = typedIn(inUrl)
    setTyped(written.current)
  }, [inUrl.q, inUrl.species])
  useEffect(() => {
    if (isSame(typed, written.current)) return
    const timer = setTimeout(() => {
      written.current = typed
      write({ ...valuesInUrl(), ...typed })
    }, typingMs)
    return () => clearTimeout(timer)
  }, [typed])
  return [
    { ...inUrl, ...typed },
    (changes) => {
      const { q = typed.q, species = typed.species, ...chosen } = changes
      setTyped({ q, species })
      if (Object.keys(chosen).length === 0) return
      written.current = { q, species }
      write({ ...inUrl, ...chosen, q, species })
    },
  ]
}
