import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { eventuallyHolds } from './eventually.ts'

/** Assertions that retry until they hold. To wait for an element alone, use `waitFor`. */

const check = (found: string | null, expected: string | RegExp | null) =>
  expected instanceof RegExp ? assert.match(found ?? '', expected) : assert.equal(found, expected)

export const expectTexts = (locator: Locator, texts: readonly string[]) =>
  eventuallyHolds(async () => assert.deepEqual(await locator.allTextContents(), texts))

export const expectText = (locator: Locator, text: string | RegExp) =>
  eventuallyHolds(async () => check(await locator.innerText(), text))

export const expectCount = (locator: Locator, count: number) =>
  eventuallyHolds(async () => {
    const found = await locator.count()
    assert.equal(found, count, `${locator}: ${found} instead of ${count}`)
  })

/** Waits for `shown`, which the page must not show before `locator`, then asserts that `locator` matches nothing. */
export async function expectNone(locator: Locator, shown: Locator): Promise<void> {
  await shown.waitFor()
  await expectCount(locator, 0)
}

export const expectValue = (field: Locator, value: string) =>
  eventuallyHolds(async () => assert.equal(await field.inputValue(), value))

export const expectAttribute = (locator: Locator, name: string, value: string | RegExp | null) =>
  eventuallyHolds(async () => check(await locator.getAttribute(name), value))

export const expectChecked = (box: Locator, isChecked: boolean) =>
  eventuallyHolds(async () => assert.equal(await box.isChecked(), isChecked))

export const expectEnabled = (control: Locator, isEnabled: boolean) =>
  eventuallyHolds(async () => assert.equal(await control.isEnabled(), isEnabled))

/** The part of the text that matches. */
export const textMatching = (locator: Locator, pattern: RegExp): Promise<string> =>
  eventuallyHolds(async () => {
    const text = await locator.innerText()
    const [found] = pattern.exec(text) ?? assert.fail(`${pattern} is not in: ${text}`)
    return found
  })
