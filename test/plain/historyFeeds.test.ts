import { describe, test } from 'node:test'
import {
  add,
  assertAccepted,
  assertRejected,
  edit,
  numbered,
  respond,
  showFeed,
  without,
} from '../support/editedHistory.ts'
import { animals, events, feed, noted, pets } from '../support/sampleHistory.ts'

const { luna, renamed, held, milo } = animals

describe('a history is rejected in which the feed', () => {
  const page = (shown: typeof feed) => respond(16, { status: 200, body: shown })
  const [first, second, third, ...rest] = feed as [(typeof feed)[0], (typeof feed)[0], (typeof feed)[0]]

  test('has a gap', () => {
    assertRejected(
      'feed',
      /^A page of the feed has a gap between 1 and 3: call 16 /,
      page([first, third, ...rest]),
    )
    assertRejected('feed', /^The feed has a gap between 1 and 3\.$/, ...showFeed([first, third, ...rest]))
  })

  test('has a position twice', () => {
    assertRejected(
      'feed',
      /^A page of the feed has the position 2 twice: call 16 /,
      page([first, second, second, third, ...rest]),
    )
    assertRejected(
      'feed',
      /^The feed has the position 2 twice\.$/,
      ...showFeed([first, second, second, third, ...rest]),
    )
  })

  test('goes back', () => {
    assertRejected(
      'feed',
      /^A page of the feed has a gap between 1 and 3/,
      page([first, third, second, ...rest]),
    )
    assertRejected('feed', /^The feed goes back from 3 to 2\.$/, ...showFeed([first, third, second, ...rest]))
  })

  test('has shown an event that it no longer has', () =>
    assertRejected(
      'feed',
      /^A page of the feed shows an event 2 that the feed has not at the end: 2 pet.created .*"Lost"/,
      page([first, { ...second, data: { ...luna, name: 'Lost' } }, third, ...rest]),
    ))

  test('repeats a change', () =>
    assertRejected(
      'feed',
      /^Event 4 \(pet.created .* repeats the change of event 3\.$/,
      ...showFeed(numbered([first, second, third, third, ...rest])),
    ))

  test('lacks a confirmed change', () =>
    assertRejected('feed', /^The feed has no event for call 1 /, ...showFeed(numbered(feed.toSpliced(1, 1)))))

  test('has a change that no caller asked for, or that was reported as failed', () => {
    const notAsked = /^Event 12 \(pet.updated .*"Milo 2".* is not the change of any request that succeeded\.$/
    assertRejected('feed', notAsked, without(14))
    assertRejected('feed', notAsked, edit(14, { outcome: 'failed' }))
  })

  test('has changes in another order than that in which they were made', () =>
    assertRejected(
      'feed',
      /^In the feed, event 2 of call 2 .* comes before event 3 of call 1 .*, which had ended when it began\.$/,
      edit(2, { startedAt: 11 }),
      ...showFeed(numbered([first, third, second, ...rest])),
    ))

  test('has concurrent changes of an animal in another order than reads show', () => {
    const twice = (one: string, two: string) => [
      edit(14, {
        startedAt: 13,
        endedAt: 99,
        outcome: 'known',
        response: { status: 200, etag: 'm2', body: { ...milo, name: 'Milo 2' } },
      }),
      add(
        30,
        'd',
        [13, 99],
        `PATCH ${pets}/2`,
        { status: 200, etag: 'm3', body: { ...milo, name: 'Milo 3' } },
        { body: { name: 'Milo 3' } },
      ),
      add(31, 'c', [26, 27], `GET ${pets}/2`, { status: 200, etag: 'm2', body: { ...milo, name: 'Milo 2' } }),
      add(32, 'c', [28, 29], `GET ${pets}/2`, { status: 200, etag: 'm3', body: { ...milo, name: 'Milo 3' } }),
      ...showFeed(
        numbered([
          ...feed.slice(0, 11),
          { ...second, type: 'pet.updated', data: { ...milo, name: one } },
          { ...second, type: 'pet.updated', data: { ...milo, name: two } },
          ...feed.slice(12),
        ]),
      ),
    ]
    assertAccepted(...twice('Milo 2', 'Milo 3'))
    assertRejected(
      'feed',
      /^Animal 2: the order of its changes in the feed does not explain every response\. After event \d+ none/,
      ...twice('Milo 3', 'Milo 2'),
    )
  })

  test('does not show a change that was confirmed before the read', () =>
    assertRejected(
      'feed',
      /^A read of the feed lacks event 13 of call 15 .*: call 16 /,
      page(feed.slice(0, 12)),
    ))

  test('has other data than the response', () =>
    assertRejected(
      'feed',
      /^Event 4 .* has other data than the response to call 5 /,
      ...showFeed(
        feed.map((event) => (event.id === 4 ? { ...event, data: { ...renamed, categoryId: 8 } } : event)),
      ),
    ))

  test('has an order without the change of its animal', () =>
    assertRejected(
      'feed',
      /^Event 6 \(order.cancelled|^The feed has no event that makes animal 1/,
      ...showFeed(numbered(feed.toSpliced(9, 1))),
    ))

  test('does not lead to the lists', () => {
    assertRejected(
      'feed',
      /^The lists of final 1 have \[1,"Luna 2",7,"sold"\], the replayed feed has not\.$/,
      respond(19, { status: 200, body: [{ ...held, status: 'sold' }] }),
    )
    assertRejected(
      'feed',
      /^The replayed feed has \[1,1,"cancelled"\], the lists of final 1 have not\.$/,
      respond(20, { status: 200, body: [noted(2, 'approved', 'n12')] }),
    )
  })

  test('changes an order that has ended', () =>
    assertRejected(
      'feed',
      /^Event 14 \(order.approved .* follows the status cancelled\.$/,
      ...showFeed(
        events([
          ...feed.map(({ type, data }) => [type, data] as [string, typeof data]),
          ['order.approved', { id: 1, petId: 1, status: 'approved' }],
        ]),
      ),
    ))
})
