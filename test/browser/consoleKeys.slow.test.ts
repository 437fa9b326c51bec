import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import {
  assertSound,
  assertSoundInBoth,
  desktop,
  nextFrame,
  phone,
  screenshot,
  signIn,
} from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { expectCount, expectEnabled, expectText } from '../support/expectPage.ts'
import { banKey } from '../support/rateLimits.ts'
import { useConsole } from '../support/useConsole.ts'

/** How often the figures of a key are loaded again. */
const usagePollMs = 10_000

const { api, service, visit } = useConsole()

describe('keys', () => {
  const readOnly = ['pets:read', 'categories:read', 'orders:read', 'events:read']
  const frontDesk = [...readOnly, 'pets:write', 'orders:write']
  const roles = {
    'Front desk': { plan: 'business', scopes: frontDesk },
    Manager: { plan: 'business', scopes: [...frontDesk, 'categories:write', 'webhooks:manage'] },
    'Read only': { plan: 'business', scopes: readOnly },
    'Web site': { plan: 'pro', scopes: ['pets:read', 'categories:read'] },
    'Partner feed': { plan: 'pro', scopes: ['pets:read', 'categories:read', 'events:read'] },
    Monitoring: { plan: 'business', scopes: ['metrics:read'] },
  }
  const narrow = { ...phone, viewport: { width: 320, height: 640 } }
  /** Here and on a desktop. */
  async function assertSoundOnBoth(opened: PageVisit, name: string) {
    await assertSoundInBoth(opened, `${name}-narrow`)
    await opened.page.setViewportSize(desktop.viewport)
    await assertSound(opened)
    await screenshot(opened.page, `${name}-desktop`)
    await opened.page.setViewportSize(narrow.viewport)
  }
  browserTest('have a role in plain words, with what it needs, also on a narrow screen', () =>
    visit(
      'keys',
      async (opened) => {
        const { page } = opened
        const dialog = page.getByRole('dialog')
        for (const [role, expected] of Object.entries(roles)) {
          await page.getByRole('button', { name: 'Create key' }).click()
          await dialog.getByRole('radio', { name: role }).check()
          await nextFrame(page)
          await expectCount(dialog.getByRole('checkbox'), 0)
          await dialog.getByLabel('Name').fill(`${role} key`)
          if (role === 'Web site') {
            await dialog.getByRole('button', { name: 'Create key' }).click()
            const error = dialog.getByText('Enter the address of the web site.')
            await error.waitFor()
            await eventually('the error is not behind the actions', async () => {
              const [shown, actions] = [
                await error.boundingBox(),
                await dialog.locator('.dialog-actions').boundingBox(),
              ]
              return shown !== null && actions !== null && shown.y + shown.height <= actions.y
            })
            await assertSoundOnBoth(opened, 'key-role-website')
            await dialog.getByLabel('Addresses of the web site').fill('https://shelter.example')
          }
          if (role === 'Front desk') await assertSoundOnBoth(opened, 'key-roles')
          await dialog.getByRole('button', { name: 'Create key' }).click()
          await dialog.getByText('It is shown only once').waitFor()
          await dialog.getByRole('button', { name: 'I have saved it' }).click()
          const [created] = await api('GET', '/keys?limit=1')
          assert.equal(created.name, `${role} key`)
          assert.equal(created.plan, expected.plan)
          assert.deepEqual(created.scopes.toSorted(), expected.scopes.toSorted())
          assert.deepEqual(created.origins, role === 'Web site' ? ['https://shelter.example'] : [])
        }
      },
      narrow,
    ),
  )

  browserTest('shows what the API finds wrong next to each field', () =>
    visit('keys', async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Create key' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Web page')
      await dialog.getByLabel('Custom').check()
      await dialog.getByLabel('Origins').fill('https://shelter.example/path')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('Must be an origin such as https://example.com').waitFor()
      await assertSoundInBoth(opened, 'key-create-errors')
      await dialog.getByLabel('Origins').fill('https://shelter.example')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('must all end in ":read"').waitFor()
      for (const scope of ['pets:write', 'orders:write']) await dialog.getByLabel(scope).uncheck()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('It is shown only once').waitFor()
      await expectText(dialog, /-H "Origin: https:\/\/shelter\.example"/)
    }),
  )

  browserTest('a ban is shown and lifted', async () => {
    // The browser has the time of the machine, and a window that has ended is shown as a new one.
    service.advance(Date.now() - service.now())
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await banKey(service, key)
    await visit(`keys/${id}`, async (opened) => {
      const { page } = opened
      await page.getByText('Banned for repeatedly exceeding its rate limit').waitFor()
      await page.getByText('0 of 1 left').waitFor()
      await page.getByText('key_banned').waitFor()
      await page.getByText('while the key was banned').waitFor()
      await assertSoundInBoth(opened, 'key-banned')
      await page.getByRole('button', { name: 'Lift the ban' }).click()
      await page.getByText('Banned for repeatedly').waitFor({ state: 'detached' })
      assert.equal((await api('GET', `/keys/${id}`)).bannedUntil, undefined)
    })
  })

  browserTest('use of deprecated operations is shown', async () => {
    const { id, key } = await service.makeKey({ name: 'Old client' })
    await service.request('GET', '/v1/pets/findByStatus?status=available', { key })
    let operation = ''
    await eventually('the figures', async () => {
      const { hours } = await api('GET', `/keys/${id}/usage`)
      operation = Object.keys(hours[0]?.deprecated ?? {})[0] ?? ''
      return operation !== ''
    })
    await visit(`keys/${id}`, async ({ page }) => {
      await page.getByText(operation, { exact: true }).waitFor()
    })
  })
})

describe('the key of the session', () => {
  const makeOperator = () =>
    service.makeKey({ name: 'Second operator', plan: 'enterprise', scopes: ['keys:manage', 'events:read'] })

  browserTest('goes on with its new secret after a rotation', async () => {
    const { id, key } = await makeOperator()
    await visit(
      `keys/${id}`,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Rotate' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText('You are signed in with this key').waitFor()
        await dialog.getByLabel('Previous secret').selectOption('0')
        // The response arrives after others were rejected, because the previous secret has ended already.
        await page.route('**/rotate', async (route) => {
          const response = await route.fetch()
          const rejected = page.waitForResponse((other) => other.status() === 401)
          await page.clock.fastForward(usagePollMs)
          await rejected
          await route.fulfill({ response })
        })
        await page.clock.install()
        await dialog.getByRole('button', { name: 'Rotate key' }).click()
        await dialog.getByText('It is shown only once').waitFor()
        await dialog.getByRole('button', { name: 'I have saved it' }).click()
        assert.equal((await service.request('GET', '/v1/limits', { key })).status, 401)
        await page.reload()
        await page.getByRole('heading', { name: 'Second operator' }).waitFor()
      },
      { key },
    )
  })

  browserTest('is revoked only with the consent of the person, and then ends', async () => {
    const { id, key } = await makeOperator()
    await visit(
      `keys/${id}`,
      async (opened) => {
        const { page } = opened
        await page.getByRole('button', { name: 'Revoke' }).click()
        const dialog = page.getByRole('dialog')
        await expectEnabled(dialog.getByRole('button', { name: 'Revoke key' }), false)
        await assertSoundInBoth(opened, 'key-revoke-own')
        await dialog.getByLabel('I have another key').check()
        await dialog.getByRole('button', { name: 'Revoke key' }).click()
        await page.getByLabel('API key').waitFor()
        await signIn(page, service.operatorKey)
      },
      { key },
    )
  })

  browserTest('is not changed without a warning', async () => {
    const { id, key } = await makeOperator()
    await visit(
      `keys/${id}`,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Edit' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('keys:manage').uncheck()
        await dialog.getByText('you can no longer change keys').waitFor()
        await screenshot(page, 'key-edit-own')
        await dialog.getByRole('button', { name: 'Save' }).click()
        await page.getByRole('heading', { name: 'This key cannot see Keys' }).waitFor()
      },
      { key },
    )
  })
})
