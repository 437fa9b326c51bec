import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { Button } from '../components/Button.tsx'
import { EmptyState } from '../components/EmptyState.tsx'
import { ErrorState } from '../components/ErrorState.tsx'
import { LoadingRows } from '../components/Loading.tsx'
import { NotFound } from '../components/NotFound.tsx'
import { PageHeader } from '../components/PageHeader.tsx'
import { Toasts } from '../components/Toasts.tsx'
import { SignIn } from '../screens/SignIn/SignIn.tsx'
import { RequestError, toRequestError } from './errors.ts'
import { navigate, path, screenName, search } from './router.ts'
import { Shell } from './Shell.tsx'
import { type Screen, screens } from './screens.tsx'
import { hasScope, isRestoring, restoreError, restoreSession, session, signOut } from './session.ts'

const allowedScreens = (): readonly Screen[] =>
  screens.filter(({ scopes }) => scopes.length === 0 || scopes.some((scope) => hasScope(scope)))

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
        <ScreenBoundary key={screenName.value}>
          <CurrentScreen />
        </ScreenBoundary>
      </Shell>
      <Toasts />
    </>
  )
}

/** A defect of a screen is shown in its place. The navigation still works, also to another page of the screen. */
function ScreenBoundary({ children }: { children: ComponentChildren }) {
  const [thrown, reset] = useErrorBoundary((error) => console.error(error))
  useEffect(reset, [path.value])
  if (thrown === undefined) return <>{children}</>
  return (
    <>
      <PageHeader title={screens.find((screen) => screen.path === screenName.value)?.name ?? 'Petstore'} />
      <EmptyState
        icon="alert"
        tone="danger"
        title="This screen cannot be shown"
        text={
          <>
            The service sent something that the console does not expect, or the console has a defect.
            <span class="state-request">
              <code>{toRequestError(thrown).message}</code>
            </span>
          </>
        }
        action={
          <Button icon="refresh" onClick={reset}>
            Try again
          </Button>
        }
      />
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
  const [name = '', ...rest] = path.value.split('/')
  const allowed = allowedScreens()
  const first = allowed[0] ?? { path: 'limits', name: 'Limits' }
  const screen = screens.find((one) => one.path === name.toLowerCase())
  // The address of a screen that was typed in capitals, or of none, is replaced by the right one.
  const target = name === '' ? first.path : screen && [screen.path, ...rest].join('/')
  const isMoved = target !== undefined && target !== path.value
  useEffect(() => {
    if (isMoved) navigate(`${target}${search.value}`, { replace: true })
  }, [isMoved])
  if (isMoved) return null
  if (!screen || rest.length > (screen.hasDetails ? 1 : 0))
    return (
      <NotFound
        title="Page not found"
        text="The console has no page at this address."
        target={screen && allowed.includes(screen) ? screen : first}
      />
    )
  if (!allowed.includes(screen))
    return (
      <>
        <PageHeader title={screen.name} />
        <EmptyState
          icon="lock"
          title={`This key cannot see ${screen.name}`}
          text={`It needs the scope ${screen.scopes.join(' or ')}. Ask an operator for a key that has it.`}
        />
      </>
    )
  return <LazyScreen key={screen.path} screen={screen} />
}

/** Whether code could not be loaded in this document. Some browsers then fail again without a request. */
let hasFailedOffline = false

/** Loads the code of the screen, and shows an error if that fails. */
function LazyScreen({ screen }: { screen: Screen }) {
  const [Loaded, setLoaded] = useState<ComponentType | undefined>(undefined)
  const [failure, setFailure] = useState<'offline' | 'outdated'>()
  const load = () => {
    setFailure(undefined)
    screen.load().then(
      (module) => setLoaded(() => module.default),
      async () => {
        const reason = await whyNotLoaded()
        if (reason === 'outdated' && hasFailedOffline) return location.reload()
        hasFailedOffline ||= reason === 'offline'
        setFailure(reason)
      },
    )
  }
  useEffect(load, [])
  if (failure)
    return (
      <>
        <PageHeader title={screen.name} />
        {failure === 'outdated' ? (
          <EmptyState
            icon="refresh"
            title="A new version is available"
            text="The service was updated. Reload the page to go on."
            action={<Button onClick={() => location.reload()}>Reload</Button>}
          />
        ) : (
          <ErrorState
            error={new RequestError('connection_failed', 'The screen was not loaded.')}
            onRetry={load}
          />
        )}
      </>
    )
  return Loaded ? <Loaded /> : <LoadingRows />
}

/** After an update, the service no longer has the code of the version that this document belongs to. */
const whyNotLoaded = (): Promise<'offline' | 'outdated'> =>
  fetch(location.href, { cache: 'no-store' }).then(
    ({ ok }) => (ok ? 'outdated' : 'offline'),
    () => 'offline',
  )
