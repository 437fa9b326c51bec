import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSoundInBoth, desktop, phone, signIn, waitUntil } from '../support/console.ts'
import { startTestService } from '../support/service.ts'
import { useConsole, type VisitOptions } from '../support/useConsole.ts'

const { service, visit } = useConsole()

/** Opens the console in a browser without a session. */
const visitSignIn = (run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
  visit('/console', run, { ...options, key: false })

describe('sign-in', () => {
  for (const [size, options] of Object.entries({ phone, desktop })) {
    browserTest(`is sound on a ${size}, also when it refuses a key`, () =>
      visitSignIn(async (opened) => {
        const { page } = opened
        const submit = page.getByRole('button', { name: 'Sign in' })
        await submit.waitFor()
        await assertSoundInBoth(opened, `sign-in-${size}`)
        await submit.click()
        await page.getByText('Enter your API key').waitFor()
        await page.getByLabel('Keep me signed in on this device').check()
        await assertSoundInBoth(opened, `sign-in-empty-${size}`)
        // The browser shows a limit only until its window ends, and the clock of the service stands still.
        service.advance(Date.now() - service.now())
        const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
        await service.request('GET', '/v1/pets', { key })
        await page.getByLabel('API key').fill(key)
        await submit.click()
        await page.getByText('Try again in').waitFor()
        await assertSoundInBoth(opened, `sign-in-refused-${size}`)
      }, options),
    )
  }

  browserTest('says that the service cannot be reached', () =>
    visitSignIn(async ({ page }) => {
      await page.context().setOffline(true)
      await page.getByLabel('API key').fill(service.operatorKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('No connection').waitFor()
      await page.context().setOffline(false)
      await signIn(page, service.operatorKey)
    }, desktop),
  )

  browserTest(
    'a page that is loaded again while the API does not respond keeps the key and tries again',
    () =>
      visit('animals', async (opened) => {
        const { page } = opened
        await page.getByText('No animals yet').waitFor()
        await page.route('**/v1/limits', (route) => route.abort())
        await page.reload()
        await page.getByText('The service cannot be reached').waitFor()
        await assertSoundInBoth(opened, 'restore-offline')
        await page.unroute('**/v1/limits')
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.getByText('No animals yet').waitFor()
      }),
  )

  browserTest('a staging deployment is unmistakable before and after sign-in', async () => {
    const staging = await startTestService({ PETSTORE_ENV: 'staging' }, { startAt: 'now' })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('Staging', { exact: true }).waitFor()
      await waitUntil(page, `document.title.startsWith('Staging: ')`)
      const colourOf = (element: string) => `getComputedStyle(${element}).backgroundColor`
      const banner = `document.querySelector('.environment-banner')`
      await waitUntil(page, `${colourOf(banner)} !== ${colourOf('document.body')}`)
      await assertSoundInBoth(opened, 'sign-in-staging')
      await signIn(page, staging.operatorKey)
      await page.getByText('Staging', { exact: true }).waitFor()
      await page.goto(`${staging.base}/console/animals`)
      await page.getByText('No animals yet').waitFor()
      await waitUntil(page, `document.title.startsWith('Staging: ')`)
      await assertSoundInBoth(opened, 'animals-staging')
    }
    await visitSignIn(look, { service: staging }).finally(() => staging.stop())
  })
})
