import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { IconButton } from '../components/Button.tsx'
import { Icon, type IconName } from '../components/Icon.tsx'
import { EnvironmentBanner } from './EnvironmentBanner.tsx'
import { hrefOf, path, screenName } from './router.ts'
import { ShortcutsDialog } from './ShortcutsDialog.tsx'
import type { Screen } from './screens.tsx'
import { session, signOut } from './session.ts'
import { isShortcutListOpen } from './shortcuts.ts'
import { theme, themes } from './theme.ts'

/** Equal to the width in shell.css from which the navigation is a drawer. */
const drawerQuery = matchMedia('(max-width: 860px)')

type ShellProps = { screens: readonly Screen[]; children: ComponentChildren }

/** The frame of every screen: banner, navigation and content. On a phone the navigation is a drawer. */
export function Shell({ screens, children }: ShellProps) {
  const drawer = useRef<HTMLDialogElement>(null)
  const current = path.value
  const content = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // A chosen link closes the drawer. The focus moves to the new screen, so that a screen reader notices it.
  useEffect(() => {
    drawer.current?.close()
    if (!isFirst.current) content.current?.focus()
    isFirst.current = false
  }, [current])
  // On a wider screen the drawer is not shown, and would make the rest of the page inert.
  useEffect(() => {
    const close = () => drawer.current?.close()
    drawerQuery.addEventListener('change', close)
    return () => drawerQuery.removeEventListener('change', close)
  }, [])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <EnvironmentBanner />
      <header class="topbar">
        <IconButton label="Open navigation" icon="menu" onClick={() => drawer.current?.showModal()} />
        <span class="topbar-brand">
          <Icon name="paw" />
          Petstore
        </span>
      </header>
      <header class="sidebar">
        <Navigation screens={screens} />
      </header>
      <dialog ref={drawer} class="drawer" aria-label="Navigation">
        <div class="drawer-close">
          <IconButton label="Close navigation" icon="close" onClick={() => drawer.current?.close()} />
        </div>
        <Navigation screens={screens} />
      </dialog>
      <main ref={content} class="content" id="content" tabIndex={-1}>
        {children}
      </main>
      {isShortcutListOpen.value && <ShortcutsDialog />}
    </div>
  )
}

const Navigation = ({ screens }: { screens: readonly Screen[] }) => (
  <div class="navigation">
    <div class="brand">
      <Icon name="paw" />
      <span>Petstore</span>
    </div>
    <nav aria-label="Main">
      <ul>
        {screens.map(
          (screen) =>
            screen.parent === undefined && (
              <NavigationLink
                key={screen.path}
                href={hrefOf(screen.path)}
                icon={screen.icon}
                isCurrent={currentPath(screens) === screen.path}
              >
                {screen.name}
              </NavigationLink>
            ),
        )}
        <NavigationLink href="/docs" icon="docs">
          Docs
        </NavigationLink>
      </ul>
    </nav>
    <Account />
  </div>
)

/** The path of the screen that is shown, or of the one that leads to it. */
const currentPath = (screens: readonly Screen[]): string =>
  screens.find(({ path }) => path === screenName.value)?.parent ?? screenName.value

type NavigationLinkProps = { href: string; icon: IconName; isCurrent?: boolean; children: string }

const NavigationLink = ({ href, icon, isCurrent, children }: NavigationLinkProps) => (
  <li>
    <a href={href} aria-current={isCurrent ? 'page' : undefined}>
      <Icon name={icon} />
      {children}
    </a>
  </li>
)

const themeIcons = { system: 'system', light: 'sun', dark: 'moon' } as const
const themeNames = { system: 'as the system', light: 'light', dark: 'dark' }

function Account() {
  const { value } = theme
  const nextTheme = themes[(themes.indexOf(value) + 1) % themes.length] ?? 'system'
  return (
    <div class="account">
      <div class="account-name">
        <strong title={session.value?.name}>{session.value?.name}</strong>
        <span>
          Key {session.value?.keyId} · {session.value?.plan}
        </span>
      </div>
      <IconButton
        label={`Colours: ${themeNames[value]}`}
        icon={themeIcons[value]}
        onClick={() => {
          theme.value = nextTheme
        }}
      />
      <IconButton
        label="Keyboard shortcuts"
        icon="keyboard"
        onClick={() => {
          isShortcutListOpen.value = true
        }}
      />
      <IconButton label="Sign out" icon="signOut" onClick={() => signOut()} />
    </div>
  )
}
