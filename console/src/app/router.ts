import { computed, signal } from '@preact/signals'

/** The screens of the console are paths below /console/: /console/animals, /console/keys/5. */

const base = '/console/'

const readPath = (): string => location.pathname.slice(base.length).replace(/\/$/, '')

/** The path below /console/, such as "keys/5". Empty for /console. */
export const path = signal(readPath())
export const search = signal(location.search)

/** The first segment of the path: the screen. */
export const screenName = computed(() => path.value.split('/')[0] ?? '')
/** The second segment of the path, such as an id. */
export const screenArgument = computed(() => path.value.split('/')[1])

export const hrefOf = (target: string): string => `${base}${target}`

export function navigate(target: string, { replace = false } = {}): void {
  const url = hrefOf(target)
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  update()
}

function update(): void {
  path.value = readPath()
  search.value = location.search
}

globalThis.addEventListener('popstate', update)

/** Follows links within the console without loading the document again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href]')
  if (link?.target !== '' || link.origin !== location.origin) return
  if (!link.pathname.startsWith(base) || link.hash !== '') return
  event.preventDefault()
  navigate(`${link.pathname.slice(base.length)}${link.search}`)
})
