import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  holdExpiredReason,
  isHoldExpired,
  isOpenOrderStatus,
  isOrderTransitionAllowed,
  orderStatuses,
  petStatusForOrder,
  withoutPersonalData,
} from '../../src/orders/order.ts'
import { adoptedOnFor, isPetTransitionAllowed, petNameLengthMax, petStatuses } from '../../src/pets/pet.ts'

/** Every pair of statuses that is allowed, as `from to`. */
const allowedPairs = <S extends string>(statuses: readonly S[], isAllowed: (from: S, to: S) => boolean) =>
  statuses.flatMap((from) => statuses.filter((to) => isAllowed(from, to)).map((to) => `${from} ${to}`))

describe('pets', () => {
  test('their statuses change to these and no others', () => {
    assert.deepEqual(allowedPairs(petStatuses, isPetTransitionAllowed), [
      ...['available available', 'available pending', 'available sold'],
      ...['pending available', 'pending pending', 'pending sold'],
      ...['sold available', 'sold sold'],
    ])
  })

  test('only a sold pet was adopted, on the day in UTC', () => {
    const now = Date.UTC(2026, 10, 15, 23, 59, 59)
    assert.deepEqual(
      petStatuses.map((status) => adoptedOnFor(status, now)),
      [null, null, '2026-11-15'],
    )
  })

  test('the length of their names is bounded', () => assert.equal(petNameLengthMax, 255))
})

describe('orders', () => {
  test('their statuses change to these and no others', () => {
    assert.deepEqual(allowedPairs(orderStatuses, isOrderTransitionAllowed), [
      ...['placed placed', 'placed approved', 'placed cancelled'],
      ...['approved approved', 'approved delivered', 'approved cancelled'],
      'delivered delivered',
      'cancelled cancelled',
    ])
  })

  test('placed and approved ones are open', () => {
    assert.deepEqual(orderStatuses.filter(isOpenOrderStatus), ['placed', 'approved'])
  })

  test('they decide the status of the pet', () => {
    assert.deepEqual(petStatusForOrder, {
      placed: 'pending',
      approved: 'pending',
      delivered: 'sold',
      cancelled: 'available',
    })
  })

  test('a hold expires at its end, if the order is placed', () => {
    const expired = (status: (typeof orderStatuses)[number], hold_expires_at: number | null) =>
      [999, 1_000, 1_001].map((now) => isHoldExpired({ status, hold_expires_at }, now))
    assert.deepEqual(expired('placed', 1_000), [false, true, true])
    assert.deepEqual(expired('placed', null), [false, false, false])
    assert.deepEqual(expired('approved', 1_000), [false, false, false])
    assert.equal(holdExpiredReason, 'hold_expired')
  })

  test('without personal data, everything but the customer and the note is left', () => {
    const order = { id: 7, customer: { name: 'Ada' }, note: 'Ask Ada' }
    assert.deepEqual(withoutPersonalData(order), { id: 7, customer: undefined, note: undefined })
  })
})
