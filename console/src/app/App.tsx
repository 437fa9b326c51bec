import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { RequestError } from '../api/errors.ts'
import { Button } from '../components/Button.tsx'
import { EmptyState } from '../components/EmptyState.tsx'
import { ErrorState } from '../components/ErrorState.tsx'
import { LoadingRows } from '../components/Loading.tsx'
import { Toasts } from '../components/Toasts.tsx'
import { SignIn } from '../screens/SignIn/SignIn.tsx'
import { navigate, screenName } from './router.ts'
import { Shell } from './Shell.tsx'
import { type Screen, screens } from './screens.tsx'
import { hasScope, isRestoring, restoreError, restoreSession, session, signOut } from './session.ts'

export const allowedScreens = (): readonly Screen[] =>
  screens.filter(({ scopes }) => scopes.every((scope) => hasScope(scope)))

export function App() {
  if (isRestoring.value) return <Splash />
  if (restoreError.value)
    return (
      <main class="splash">
        <h1 class="visually-hidden">Petstore</h1>
        <ErrorState error={restoreError.value} onRetry={() => void restoreSession()} />
        <Button kind="quiet" icon="signOut" onClick={() => signOut()}>
          Sign out
        </Button>
      </main>
    )
  if (!session.value)
    return (
      <>
        <SignIn />
        <Toasts />
      </>
    )
  return (
    <>
      <Shell screens={allowedScreens()}>
        <CurrentScreen />
      </Shell>
      <Toasts />
    </>
  )
}

const Splash = () => (
  <main class="splash" aria-busy="true">
    <span class="spinner" aria-hidden="true" />
    <p>Opening the console</p>
  </main>
)

function CurrentScreen() {
  const name = screenName.value
  const allowed = allowedScreens()
  const screen = screens.find(({ path }) => path === name)
  const isRoot = name === ''
  useEffect(() => {
    if (isRoot) navigate(allowed[0]?.path ?? 'limits', { replace: true })
  }, [isRoot])
  if (isRoot) return null
  if (!screen)
    return <EmptyState icon="search" title="There is no such screen" text="Choose one from the navigation." />
  if (!allowed.includes(screen))
    return (
      <EmptyState
        icon="lock"
        title={`This key cannot see ${screen.name}`}
        text={`It needs the scope ${screen.scopes.join(' and ')}. Ask an operator for a key that has it.`}
      />
    )
  return <LazyScreen key={screen.path} screen={screen} />
}

/** Loads the code of the screen, and shows an error if that fails. */
function LazyScreen({ screen }: { screen: Screen }) {
  const [Loaded, setLoaded] = useState<ComponentType | undefined>(undefined)
  const [hasFailed, setFailed] = useState(false)
  const load = () => {
    setFailed(false)
    screen.load().then(
      (module) => setLoaded(() => module.default),
      () => setFailed(true),
    )
  }
  useEffect(load, [])
  if (hasFailed)
    return (
      <ErrorState error={new RequestError('network_error', 'The screen was not loaded.')} onRetry={load} />
    )
  return Loaded ? <Loaded /> : <LoadingRows />
}
