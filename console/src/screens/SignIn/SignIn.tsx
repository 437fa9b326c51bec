import { useEffect, useRef, useState } from 'preact/hooks'
import { unusedDaysMax } from '../../../../src/pages/browserStorage.ts'
import { EnvironmentBanner } from '../../app/EnvironmentBanner.tsx'
import type { RequestError } from '../../app/errors.ts'
import { environment, keyPrefix, signIn, signInError } from '../../app/session.ts'
import { Button } from '../../components/Button.tsx'
import { RetryTime } from '../../components/ErrorNotice.tsx'
import { CheckField, Field } from '../../components/Field.tsx'
import { Icon } from '../../components/Icon.tsx'

export function SignIn() {
  const input = useRef<HTMLInputElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [isKept, setKept] = useState(false)
  const [fieldError, setFieldError] = useState<string>()
  const error = signInError.value
  useEffect(() => {
    document.title = `${environment === 'staging' ? 'Staging: ' : ''}Sign in - Petstore`
    input.current?.focus()
  }, [])

  async function submit() {
    const key = input.current?.value ?? ''
    if (isBusy) return
    setFieldError(key.trim() === '' ? 'Enter your API key.' : undefined)
    if (key.trim() === '') return input.current?.focus()
    setBusy(true)
    await signIn(key, { isKept })
    setBusy(false)
    input.current?.select()
  }
  return (
    <div class="sign-in-page">
      <EnvironmentBanner />
      <main class="sign-in">
        <div class="sign-in-brand">
          <Icon name="paw" />
          <span>Petstore</span>
        </div>
        <form
          class="card"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void submit()
          }}
        >
          <h1>Sign in</h1>
          <p class="sign-in-text">Use the API key that an operator gave you.</p>
          <div aria-live="assertive">{error && <SignInError error={error} />}</div>
          <Field
            label="API key"
            error={fieldError}
            hint={`Most keys of this service start with ${keyPrefix}.`}
          >
            {(control) => (
              <input
                {...control}
                ref={input}
                class="input input-code"
                type="password"
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
              />
            )}
          </Field>
          <CheckField
            label="Keep me signed in on this device"
            hint={
              isKept
                ? `All tabs of this browser are signed in, until you sign out or do not use it for ${unusedDaysMax} days. Everyone who uses this browser can use the key. A key that can manage keys is not kept.`
                : 'Without this, the key is kept in this tab until you sign out.'
            }
            isChecked={isKept}
            onChecked={setKept}
          />
          <Button kind="primary" type="submit" isBusy={isBusy}>
            Sign in
          </Button>
        </form>
        <p class="sign-in-help">
          The first start of the service prints the operator key.
          <br />
          <a href="/guides/keys">How keys work</a>
        </p>
      </main>
    </div>
  )
}

const titles: Readonly<Record<string, string>> = {
  invalid_api_key: 'This key does not work here',
  missing_api_key: 'This key does not work here',
  origin_not_allowed: 'This is a publishable key',
  key_banned: 'This key is banned for a short time',
  rate_limit_exceeded: 'Too many requests',
  connection_failed: 'No connection',
  timeout: 'No connection',
  unavailable: 'The service is not available right now',
  signed_out: 'You are signed out',
}

/** What is wrong with the key, and what to do. The API says most of it. */
function SignInError({ error }: { error: RequestError }) {
  const text =
    error.code === 'origin_not_allowed'
      ? 'It works only in the web pages that it was made for. Sign in with a secret key.'
      : error.messageWithoutDelay
  return (
    <div class="notice notice-danger">
      <Icon name="alert" />
      <div>
        <strong>{titles[error.code] ?? 'You are not signed in'}</strong>
        <p>{text}</p>
        <RetryTime error={error} />
      </div>
    </div>
  )
}
