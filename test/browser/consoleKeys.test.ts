import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import {
  assertSound,
  assertSoundInBoth,
  desktop,
  hostile,
  phone,
  screenshot,
  signIn,
} from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { useConsole } from '../support/useConsole.ts'

const secretPattern = /ps_live_[0-9A-Za-z]{36}/

/** How often the figures of a key are loaded again. */
const usagePollMs = 10_000

const { api, service, visit } = useConsole()

const read = (id: number) => api('GET', `/keys/${id}`)
const isAccepted = async (key: string) => (await service.request('GET', '/v1/limits', { key })).status === 200

describe('keys', () => {
  for (const [size, options] of Object.entries({ phone, desktop })) {
    browserTest(`are created, and the secret is shown once, on a ${size}`, () =>
      visit(
        'keys',
        async (opened) => {
          const { page } = opened
          await page.getByRole('button', { name: 'Create key' }).click()
          const dialog = page.getByRole('dialog')
          await dialog.getByRole('button', { name: 'Create key' }).click()
          await dialog.getByText('Say what the key is for.').waitFor()
          await dialog.getByLabel('Name').fill(hostile)
          await dialog.getByLabel('Custom').check()
          await dialog.getByLabel('Plan').selectOption('enterprise')
          await dialog.getByLabel('Per minute').fill('500')
          await dialog.getByLabel('orders:write').uncheck()
          await assertSoundInBoth(opened, `key-create-${size}`)
          await dialog.getByRole('button', { name: 'Create key' }).click()
          await dialog.getByText('It is shown only once').waitFor()
          await assertSoundInBoth(opened, `key-secret-${size}`)
          const secret = secretPattern.exec(await dialog.innerText())?.[0] ?? ''
          assert.ok(await isAccepted(secret))
          const command = new RegExp(`curl -H "Authorization: Bearer ${secret}" "http`)
          assert.match(await dialog.innerText(), command)
          await dialog.getByRole('button', { name: 'I have saved it' }).click()
          await page.getByRole('link', { name: hostile }).first().click()
          await page.getByText('500 requests a minute').waitFor()
          assert.doesNotMatch(await page.content(), secretPattern)
        },
        options,
      ),
    )
  }

  const readOnly = ['pets:read', 'categories:read', 'orders:read', 'events:read']
  const frontDesk = [...readOnly, 'pets:write', 'orders:write']
  const roles = {
    'Front desk': { plan: 'business', scopes: frontDesk },
    Manager: { plan: 'business', scopes: [...frontDesk, 'categories:write', 'webhooks:manage'] },
    'Read only': { plan: 'business', scopes: readOnly },
    'Web site': { plan: 'pro', scopes: ['pets:read', 'categories:read'] },
    'Partner feed': { plan: 'pro', scopes: ['pets:read', 'categories:read', 'events:read'] },
  }
  for (const [size, options] of Object.entries({
    narrow: { ...phone, viewport: { width: 320, height: 640 } },
    desktop,
  })) {
    browserTest(`have a role in plain words, with what it needs, on a ${size} screen`, () =>
      visit(
        'keys',
        async (opened) => {
          const { page } = opened
          const dialog = page.getByRole('dialog')
          for (const [role, expected] of Object.entries(roles)) {
            await page.getByRole('button', { name: 'Create key' }).click()
            await dialog.getByRole('radio', { name: role }).check()
            assert.equal(await dialog.getByRole('checkbox').count(), 0)
            await dialog.getByLabel('Name').fill(`${role} ${size}`)
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
              await assertSoundInBoth(opened, `key-role-website-${size}`)
              await dialog.getByLabel('Addresses of the web site').fill('https://shelter.example')
            }
            if (role === 'Front desk') await assertSoundInBoth(opened, `key-roles-${size}`)
            await dialog.getByRole('button', { name: 'Create key' }).click()
            await dialog.getByText('It is shown only once').waitFor()
            await dialog.getByRole('button', { name: 'I have saved it' }).click()
            const keys: { name: string; plan: string; scopes: string[]; origins: string[] }[] = await api(
              'GET',
              '/keys?limit=1',
            )
            const [created] = keys
            assert.equal(created?.name, `${role} ${size}`)
            assert.equal(created?.plan, expected.plan)
            assert.deepEqual([...(created?.scopes ?? [])].sort(), [...expected.scopes].sort())
            assert.deepEqual(created?.origins, role === 'Web site' ? ['https://shelter.example'] : [])
          }
        },
        options,
      ),
    )
  }

  browserTest('copies the secret', () =>
    visit(
      'keys',
      async ({ page }) => {
        await page.getByRole('button', { name: 'Create key' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Name').fill('Clipboard')
        await page.keyboard.press('Enter')
        await dialog.getByRole('button', { name: 'Copy: API key' }).click()
        await dialog.getByText('Copied', { exact: true }).waitFor()
        assert.ok(await isAccepted(await page.evaluate<string>('navigator.clipboard.readText()')))
        // The secret is lost when the dialog is closed. Browsers close one at the second Escape.
        for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
        assert.ok(await dialog.isVisible())
        await dialog.getByRole('button', { name: 'I have saved it' }).click()
        await dialog.waitFor({ state: 'detached' })
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
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
      await assertSound(opened)
      await dialog.getByLabel('Origins').fill('https://shelter.example')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('must all end in ":read"').waitFor()
      for (const scope of ['pets:write', 'orders:write']) await dialog.getByLabel(scope).uncheck()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('It is shown only once').waitFor()
      assert.match(await dialog.innerText(), /-H "Origin: https:\/\/shelter\.example"/)
    }),
  )

  browserTest('are changed, without overwriting concurrent changes of another operator', async () => {
    const { id } = await service.makeKey({ name: 'Feed' })
    await visit(`keys/${id}`, async ({ page }) => {
      await page.getByRole('button', { name: 'Edit' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Partner feed')
      await dialog.getByLabel('Plan').selectOption('business')
      await dialog.getByLabel('events:read').check()
      await dialog.getByLabel('Expires').fill('2090-01-31T12:00')
      await api('PATCH', `/keys/${id}`, { origins: ['https://partner.example'], scopes: ['pets:read'] })
      await dialog.getByText('Someone else has changed this key.').waitFor()
      await api('PATCH', `/keys/${id}`, { origins: [] })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Partner feed' }).waitFor()
      const key = await read(id)
      assert.deepEqual(key.origins, [])
      assert.equal(key.plan, 'business')
      assert.ok((key.scopes as string[]).includes('events:read'))
      assert.equal(key.expiresAt, await page.evaluate(`new Date('2090-01-31T12:00').toISOString()`))
    })
  })

  browserTest('are rotated with an overlap', async () => {
    const { id, key } = await service.makeKey({ name: 'Rotated' })
    await visit(`keys/${id}`, async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Rotate' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Previous secret').selectOption('3600')
      await assertSound(opened)
      await screenshot(page, 'key-rotate')
      await dialog.getByRole('button', { name: 'Rotate key' }).click()
      await dialog.getByText('It is shown only once').waitFor()
      const secret = secretPattern.exec(await dialog.innerText())?.[0] ?? ''
      assert.notEqual(secret, key)
      assert.ok(await isAccepted(secret))
      assert.ok(await isAccepted(key))
    })
  })

  browserTest('are revoked after a question', async () => {
    const { id, key } = await service.makeKey({ name: 'Revoked' })
    await visit(`keys/${id}`, async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('dialog').getByText('This cannot be undone').waitFor()
      await assertSound(opened)
      await screenshot(page, 'key-revoke')
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      assert.ok(await isAccepted(key))
      await page.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
      await page.getByText('Revoked', { exact: true }).first().waitFor()
      await page.getByRole('button', { name: 'Rotate' }).waitFor({ state: 'detached' })
      assert.ok(!(await isAccepted(key)))
    })
  })

  browserTest('a ban is shown and lifted', async () => {
    // The browser has the time of the machine, and a window that has ended is shown as a new one.
    service.advance(Date.now() - service.now())
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await eventually('the key is banned', async () => {
      const { json } = await service.request('GET', '/v1/pets', { key })
      return (json as { code?: string }).code === 'key_banned'
    })
    await visit(`keys/${id}`, async (opened) => {
      const { page } = opened
      await page.getByText('Banned for repeatedly exceeding its rate limit').waitFor()
      await page.getByText('0 of 1 left').waitFor()
      await page.getByText('key_banned').waitFor()
      await page.getByText('while the key was banned').waitFor()
      await assertSound(opened)
      await screenshot(page, 'key-banned')
      await page.getByRole('button', { name: 'Lift the ban' }).click()
      await page.getByText('Banned for repeatedly').waitFor({ state: 'detached' })
      assert.equal((await read(id)).bannedUntil, undefined)
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

  browserTest('a key that others create appears by itself', () =>
    visit('keys', async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await service.makeKey({ name: 'From elsewhere' })
      await page.getByRole('link', { name: 'From elsewhere' }).waitFor()
    }),
  )
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
        assert.ok(!(await isAccepted(key)))
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
        assert.ok(await dialog.getByRole('button', { name: 'Revoke key' }).isDisabled())
        await assertSound(opened)
        await screenshot(page, 'key-revoke-own')
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
