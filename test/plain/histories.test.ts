import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkHistory } from '../../reliability/histories/check/checkHistory.ts'
import {
  add,
  assertAccepted,
  assertRejected,
  edit,
  numbered,
  respond,
  showFeed,
} from '../support/editedHistory.ts'
import { animals, feed, goodHistory, noted, orders, pets } from '../support/sampleHistory.ts'

const { luna, renamed, held, milo } = animals

describe('a history is accepted', () => {
  test('without a mistake', () => {
    const findings = checkHistory(goodHistory)
    assert.deepEqual(findings.problems, [])
    assert.deepEqual({ animals: findings.animals, events: findings.events }, { animals: 2, events: 13 })
  })

  test('if a read shows one of two changes that it overlaps with', () => {
    assertAccepted(add(30, 'c', [35, 36], `GET ${pets}/1`, { status: 200, etag: 'e1', body: luna }))
    assertAccepted(add(30, 'c', [35, 36], `GET ${pets}/1`, { status: 200, etag: 'e2', body: renamed }))
  })

  test('if a change with an unknown outcome was never made', () => {
    assertAccepted(add(30, 'd', [45, 46], `PATCH ${pets}/1`, 'unknown', { body: { name: 'lost' } }))
    assertAccepted(
      add(30, 'd', [45, 46], `POST ${pets}`, 'unknown', { body: { name: 'lost', categoryId: 7 } }),
    )
    assertAccepted(add(30, 'd', [45, 46], `POST ${orders}`, 'unknown', { body: { petId: 1, note: 'lost' } }))
  })

  test('if a change with an unknown outcome was made long after its end', () => {
    assertAccepted(edit(14, { startedAt: 13, endedAt: 14 }))
    assertAccepted(edit(12, { outcome: 'unknown', startedAt: 45, endedAt: 46 }))
    assertAccepted(edit(1, { outcome: 'unknown', endedAt: 5 }))
  })

  test('if the response of a retry is the first one that arrives', () => {
    assertAccepted(edit(2, { outcome: 'unknown', endedAt: 5 }))
  })
})

describe('a history is rejected in which an animal is not one copy', () => {
  const notOne = /Animal 1: no order of its \d+ requests explains every response/

  test('a read after a confirmed change shows the version before it', () =>
    assertRejected('linearizable', notOne, respond(7, { status: 200, etag: 'e1', body: luna })))

  test('a list after a confirmed change shows the version before it', () =>
    assertRejected('linearizable', notOne, respond(17, { status: 200, body: [renamed] })))

  test('a list lacks an animal', () => {
    assertRejected('linearizable', notOne, respond(17, { status: 200, body: [] }))
    assertRejected(
      'linearizable',
      notOne,
      add(30, 'c', [120, 121], `GET ${pets}?limit=50`, { status: 200, body: [] }),
    )
  })

  test('a removed animal is shown', () =>
    assertRejected(
      'linearizable',
      /Animal 2: no order/,
      respond(17, { status: 200, body: [{ ...milo, name: 'Milo 2' }, held] }),
    ))

  test('a read shows a change, and a later one the version before it', () =>
    assertRejected(
      'linearizable',
      notOne,
      edit(5, { startedAt: 20, endedAt: 100 }),
      add(30, 'c', [23, 24], `GET ${pets}/1`, { status: 200, etag: 'e2', body: renamed }),
      add(31, 'd', [25, 26], `GET ${pets}/1`, { status: 200, etag: 'e1', body: luna }),
    ))

  test('a change that was reported as failed is shown', () =>
    assertRejected('linearizable', notOne, edit(5, { outcome: 'failed' })))

  test('a confirmed change is lost', () =>
    assertRejected(
      'linearizable',
      notOne,
      add(
        30,
        'd',
        [45, 46],
        `PATCH ${pets}/1`,
        { status: 200, etag: 'e9', body: { ...luna, name: 'x' } },
        { body: { name: 'x' } },
      ),
    ))

  test('a change is rejected although the animal has the version of If-Match', () =>
    assertRejected('linearizable', notOne, edit(6, { startedAt: 23, endedAt: 24 })))

  test('an order is rejected although the animal is available', () =>
    assertRejected('linearizable', notOne, edit(9, { startedAt: 45, endedAt: 46 })))

  test('the orders of an animal are not shown', () =>
    assertRejected('linearizable', notOne, respond(10, { status: 200, body: [] })))

  test('the message names the requests that do not fit, and the state', () =>
    assertRejected(
      'linearizable',
      /In the state \[1,"Luna 2",7,"available"\], orders \[\] none of these fits:\n {2}call 7 of c \(42\.0 to 44\.0 ms\): GET \/v1\/pets\/1 -> 200 \{"id":1,"name":"Luna",/,
      respond(7, { status: 200, etag: 'e1', body: luna }),
    ))
})

describe('a history is rejected with', () => {
  test('two changes of the same version', () =>
    assertRejected(
      'updates',
      /^Several changes of one version were made: call 5 .* and call 6 /,
      respond(6, { status: 200, etag: 'e3', body: { ...luna, name: 'Luna 3' } }),
    ))

  test('two orders that were open at the same time', () =>
    assertRejected(
      'orders',
      /^Two orders for animal 1 were open at the same time: call 8 .* and call 9 /,
      respond(9, { status: 201, body: noted(3, 'placed', 'n9') }),
    ))

  test('two open orders in a list', () =>
    assertRejected(
      'orders',
      /^A list shows 2 open orders for animal 1: call 10 /,
      respond(10, { status: 200, body: [noted(3, 'placed', 'n9'), noted(1, 'placed', 'n8')] }),
    ))

  test('two open orders in the feed', () =>
    assertRejected(
      'orders',
      /^Event 6 places order 2 for animal 1, whose order 1 is open\.$/,
      ...showFeed(numbered([...feed.slice(0, 5), feed[8] as never, ...feed.slice(5, 8), ...feed.slice(9)])),
    ))

  test('an inventory that is not the count', () =>
    assertRejected(
      'inventory',
      /^The count is \{"available":0,"pending":1,"sold":0\}: call 21 /,
      respond(21, { status: 200, body: { available: 1, pending: 0, sold: 0 } }),
    ))

  test('a retry that gets another response', () =>
    assertRejected(
      'replays',
      /^Two different responses to \/v1\/pets add-milo: call 2 .* and call 3 /,
      respond(3, { status: 201, etag: 'm1', body: { ...milo, id: 3 }, isReplayed: true }),
    ))

  test('a retry that was done again', () =>
    assertRejected(
      'replays',
      /^The request was done twice: call 2 .* and call 3 /,
      respond(3, { status: 201, etag: 'm1', body: milo }),
    ))

  test('an internal error', () =>
    assertRejected(
      'responses',
      /^An unexpected response: call 4 .* -> 500 /,
      respond(4, { status: 500, body: { code: 'internal_error' } }),
    ))

  test('an ETag of two versions', () =>
    assertRejected(
      'responses',
      /^The ETag e1 was given to \[1,"Luna",7,"available"\] before: call 7 /,
      respond(7, { status: 200, etag: 'e1', body: renamed }),
    ))
})
