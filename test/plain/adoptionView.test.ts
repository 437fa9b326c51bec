import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adoptionPages } from '../../src/adoption/pages.ts'
import type { ApiRequest } from '../../src/api/request.ts'
import type { PageContext, WebPage } from '../../src/api/router.ts'

const pages = adoptionPages({ publicUrl: undefined, isStaging: false })
const context = { params: {}, now: 0 } as PageContext

for (const path of ['/adopt', '/adopt/animals.json'])
  test(`the query of ${path} is read once for a request`, () => {
    const page = pages.find((one) => one.path === path) as WebPage
    let reads = 0
    const request = {
      get target() {
        reads++
        return `${path}?species=dog`
      },
      header: () => undefined,
    } as unknown as ApiRequest
    assert.equal(page.allowance?.(request)?.name, 'adoption pages')
    const readsBefore = reads
    assert.match(page.cacheKey?.(request, context) ?? '', /species=dog/)
    assert.equal(reads, readsBefore)
  })
