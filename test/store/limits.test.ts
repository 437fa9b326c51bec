import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultScopes } from '../../src/keys/key.ts'
import type { Answer, RequestOptions } from '../support/client.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const minute = 60_000
const day = 86_400_000

// The tests say in X-Forwarded-For whom they speak for.
const service = useService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })

/** Sends a request and holds every answer to what the interface says of its headers. */
async function ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await service.request(method, path, options)
  assertHeaders(answer, service.now())
  return answer
}
const list = (key: string) => ask('GET', '/v1/pets', { key })
const anonymous = (address: string, key?: string) =>
  ask('GET', '/v1/pets', { key, headers: { 'x-forwarded-for': address } })

const number = (answer: Answer, header: string): number => {
  assert.match(String(answer.headers[header]), /^\d+$/, header)
  return Number(answer.headers[header])
}
const remaining = (answer: Answer) => number(answer, 'x-ratelimit-remaining')
const limit = (answer: Answer) => number(answer, 'x-ratelimit-limit')
const reset = (answer: Answer) => number(answer, 'x-ratelimit-reset')

function assertHeaders(answer: Answer, now: number): void {
  const policy = /^"minute";q=(\d+);w=60, "day";q=(\d+);w=86400$/.exec(
    String(answer.headers['ratelimit-policy']),
  )
  const state = /^"minute";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+)$/.exec(String(answer.headers.ratelimit))
  assert.ok(policy && state, `${answer.headers['ratelimit-policy']} / ${answer.headers.ratelimit}`)
  const [minuteLimit, dayLimit] = policy.slice(1).map(Number) as [number, number]
  const [minuteLeft, minuteSeconds, dayLeft, daySeconds] = state.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  assert.ok(minuteSeconds >= 1 && minuteSeconds <= 60 && daySeconds >= 1 && daySeconds <= 86_400)
  assert.ok(minuteLeft <= minuteLimit && dayLeft <= dayLimit)
  const isBanned = answer.json?.code === 'key_banned' || answer.json?.bannedUntil
  const isMinute = minuteLeft === dayLeft ? minuteSeconds > daySeconds : minuteLeft < dayLeft
  assert.equal(limit(answer), isMinute ? minuteLimit : dayLimit)
  assert.equal(remaining(answer), isBanned ? 0 : Math.min(minuteLeft, dayLeft))
  if (!isBanned) {
    const endsBy = now + (isMinute ? minuteSeconds : daySeconds) * 1000
    assert.ok(reset(answer) * 1000 > endsBy - 1000 && reset(answer) * 1000 < endsBy + 1000)
  }
  assert.equal('retry-after' in answer.headers, answer.status === 429)
  if (answer.status !== 429) return
  assert.equal(remaining(answer), 0)
  const back = now + number(answer, 'retry-after') * 1000
  assert.ok(back >= reset(answer) * 1000 && back < reset(answer) * 1000 + 1000)
}

describe('of 200 simultaneous requests on a fresh free key', () => {
  for (let round = 1; round <= 20; round++) {
    test(`exactly 60 are admitted, round ${round}`, async () => {
      const { key } = await service.makeKey()
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          index % 2 === 0
            ? list(key)
            : ask('POST', '/v1/pets', { key, body: { name: `Milo ${index}`, categoryId: 3 } }),
        ),
      )
      const admitted = answers.filter(({ status }) => status === 200 || status === 201)
      assert.deepEqual(
        admitted.map(remaining).toSorted((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index),
      )
      const refused = answers.filter(({ status }) => status === 429).map(({ json }) => json.code)
      assert.equal(refused.length, 140)
      assert.equal(refused.filter((code) => code === 'rate_limit_exceeded').length, 99)
      assert.equal(refused.filter((code) => code === 'key_banned').length, 41)
    })
  }

  test('and after a clean restart no more are admitted', async () => {
    const { key } = await service.makeKey()
    const burst = () => Promise.all(Array.from({ length: 40 }, () => list(key)))
    const first = await burst()
    await service.restart()
    const second = await burst()
    const admitted = (answers: Answer[]) => answers.filter(({ status }) => status === 200).length
    assert.deepEqual([admitted(first), admitted(second)], [40, 20])
  })
})

const plans = [
  { plan: 'free', perMinute: 60, perDay: 1_000 },
  { plan: 'pro', perMinute: 300, perDay: 10_000 },
  { plan: 'business', perMinute: 1_000, perDay: 100_000 },
  { plan: 'enterprise', perMinute: 10_000, perDay: 1_000_000 },
  { plan: 'enterprise', limits: { perMinute: 7, perDay: 9 }, perMinute: 7, perDay: 9 },
]
for (const { perMinute, perDay, ...settings } of plans) {
  test(`the plan ${settings.plan} allows ${perMinute} a minute and ${perDay} a day`, async () => {
    const { id, key } = await service.makeKey(settings)
    const answer = await list(key)
    assert.equal(
      answer.headers['ratelimit-policy'],
      `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
    )
    assert.equal(answer.headers.ratelimit, `"minute";r=${perMinute - 1};t=60, "day";r=${perDay - 1};t=86400`)
    assert.equal(limit(answer), perMinute)
    assert.equal(remaining(answer), perMinute - 1)
    const { json } = await ask('GET', '/v1/limits', { key })
    assert.deepEqual(json, {
      keyId: id,
      name: 'test',
      scopes: defaultScopes([]),
      environment: 'production',
      plan: settings.plan,
      minute: {
        limit: perMinute,
        remaining: perMinute - 1,
        resetsAt: new Date(service.now() + minute).toISOString(),
      },
      day: { limit: perDay, remaining: perDay - 1, resetsAt: new Date(service.now() + day).toISOString() },
      bannedUntil: null,
    })
  })
}

describe('windows', () => {
  test('a minute opens with the first request after the last one ended, and lasts 60 seconds', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2 } })
    const opened = service.now()
    await list(key)
    service.advance(minute - 1)
    assert.equal(reset(await list(key)), Math.ceil((opened + minute) / 1000))
    assert.equal((await list(key)).status, 429)
    service.advance(1)
    service.advance(12_345)
    const reopened = await list(key)
    assert.equal(reopened.status, 200)
    assert.equal(remaining(reopened), 1)
    assert.equal(reset(reopened), Math.ceil((service.now() + minute) / 1000))
  })

  for (const oddMs of [0, 1, 137, 500, 999]) {
    test(`whoever waits for Retry-After is admitted, and nobody is sent back too early: ${oddMs} ms past`, async () => {
      service.advance(1000 - (service.now() % 1000) + oddMs)
      const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
      await list(key)
      for (const laterMs of [0, 1, 499, 998]) {
        service.advance(laterMs)
        const refused = await list(key)
        assert.equal(refused.status, 429)
        assert.equal(refused.json.code, 'rate_limit_exceeded')
        assert.equal(refused.json.status, 429)
      }
      const refused = await list(key)
      service.advance(number(refused, 'retry-after') * 1000)
      assert.ok(service.now() >= reset(refused) * 1000)
      assert.equal((await list(key)).status, 200)
    })
  }

  test('the headers tell of the window that runs out first, and of the later one on a tie', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 3, perDay: 5 } })
    const opened = service.now()
    const seen: [number, number, number][] = []
    const look = async () => {
      const answer = await list(key)
      seen.push([answer.status, limit(answer), remaining(answer)])
      return answer
    }
    for (let i = 0; i < 4; i++) await look()
    service.advance(minute)
    for (let i = 0; i < 3; i++) await look()
    assert.deepEqual(seen, [
      [200, 3, 2],
      [200, 3, 1],
      [200, 3, 0],
      [429, 3, 0],
      [200, 5, 1],
      [200, 5, 0],
      [429, 5, 0],
    ])
    const refused = await list(key)
    assert.equal(reset(refused), Math.ceil((opened + day) / 1000))
    assert.equal(
      number(refused, 'retry-after'),
      Math.ceil((opened + day) / 1000) - Math.floor(service.now() / 1000),
    )
    service.advance(number(refused, 'retry-after') * 1000)
    assert.equal((await list(key)).status, 200)

    const tied = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2, perDay: 2 } })
    const answer = await list(tied.key)
    assert.equal(reset(answer), Math.ceil((service.now() + day) / 1000))
  })

  test('a free key has 1,000 requests a day, and not one more', async () => {
    const { key } = await service.makeKey()
    const opened = service.now()
    let admitted = 0
    for (let passed = 0; passed < 17; passed++) {
      const answers = await Promise.all(Array.from({ length: 60 }, () => list(key)))
      admitted += answers.filter(({ status }) => status === 200).length
      service.advance(minute)
    }
    assert.equal(admitted, 1_000)
    const refused = await list(key)
    assert.equal(refused.status, 429)
    assert.equal(limit(refused), 1_000)
    assert.equal(reset(refused), Math.ceil((opened + day) / 1000))
    service.advance(opened + day - service.now())
    assert.equal((await list(key)).status, 200)
  })

  test('a refused request takes from neither window', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2, perDay: 3 } })
    for (let i = 0; i < 2; i++) await list(key)
    for (let i = 0; i < 20; i++) {
      const refused = await list(key)
      assert.match(String(refused.headers.ratelimit), /"day";r=1;/)
    }
    service.advance(minute)
    const third = await list(key)
    assert.equal(third.status, 200)
    assert.match(String(third.headers.ratelimit), /"minute";r=1;.*"day";r=0;/)
  })

  test('a clean restart loses nothing of either window', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 4, perDay: 6 } })
    for (let i = 0; i < 3; i++) await list(key)
    const before = await ask('GET', '/v1/limits', { key })
    await service.restart()
    assert.deepEqual((await ask('GET', '/v1/limits', { key })).json, before.json)
    assert.equal((await list(key)).status, 200)
    assert.equal((await list(key)).status, 429)
    await service.restart()
    service.advance(minute)
    assert.equal(remaining(await list(key)), 1)
    assert.equal(remaining(await list(key)), 0)
    assert.equal((await list(key)).status, 429)
  })

  test('a clock that is set back locks nobody out for longer than a window', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    const address = '203.0.113.40'
    await list(key)
    for (let i = 0; i < 100; i++) await anonymous(address)
    service.advance(-3_600_000)
    for (const refused of [await list(key), await anonymous(address)]) {
      assert.equal(refused.status, 429)
      // Up to a second more than the window: the reset is named in whole seconds, rounded up.
      assert.ok(number(refused, 'retry-after') <= 61)
    }
    service.advance(minute - 1)
    assert.equal((await list(key)).status, 429)
    assert.equal((await anonymous(address)).status, 429)
    service.advance(1)
    assert.equal((await list(key)).status, 200)
    assert.equal((await anonymous(address)).status, 401)
    service.advance(3_600_000)
  })

  test('keys do not share windows', async () => {
    const [one, two] = [await service.makeKey(), await service.makeKey()]
    for (let i = 0; i < 61; i++) await list(one.key)
    assert.equal(remaining(await list(two.key)), 59)
  })
})

describe('what counts', () => {
  const counted: {
    name: string
    settings?: Record<string, unknown>
    method: string
    path: string
    options?: RequestOptions
    status: number
  }[] = [
    { name: 'a page of animals', method: 'GET', path: '/v1/pets', status: 200 },
    { name: 'HEAD', method: 'HEAD', path: '/v1/pets', status: 200 },
    {
      name: 'an animal that is added',
      method: 'POST',
      path: '/v1/pets',
      options: { body: { name: 'Milo', categoryId: 3 } },
      status: 201,
    },
    { name: 'an unknown path', method: 'GET', path: '/v1/nowhere', status: 404 },
    { name: 'an unknown animal', method: 'GET', path: '/v1/pets/999999', status: 404 },
    { name: 'a wrong method', method: 'PUT', path: '/v1/pets', status: 405 },
    { name: 'a wrong method on the limits', method: 'POST', path: '/v1/limits', status: 405 },
    { name: 'a wrong query', method: 'GET', path: '/v1/pets?limit=0', status: 400 },
    { name: 'a wrong body', method: 'POST', path: '/v1/pets', options: { body: '{' }, status: 400 },
    {
      name: 'a large body',
      method: 'POST',
      path: '/v1/pets',
      options: { body: ' '.repeat(70_000) },
      status: 413,
    },
    {
      name: 'a body of another type',
      method: 'POST',
      path: '/v1/pets',
      options: { body: 'x', headers: { 'content-type': 'text/plain' } },
      status: 415,
    },
    { name: 'a missing scope', settings: { scopes: [] }, method: 'GET', path: '/v1/pets', status: 403 },
  ]
  for (const { name, settings, method, path, options, status } of counted) {
    test(`${name} (${status}) takes one`, async () => {
      const { key } = await service.makeKey(settings)
      const first = await ask(method, path, { key, ...options })
      assert.equal(first.status, status)
      assert.equal(remaining(first), 59)
      const second = await ask(method, path, { key, ...options })
      assert.equal(remaining(second), 58)
      assert.match(String(second.headers.ratelimit), /"day";r=998;/)
    })
  }

  test('a page that has not changed (304) takes one', async () => {
    const { key } = await service.makeKey()
    const { headers } = await list(key)
    const answer = await ask('GET', '/v1/pets', { key, headers: { 'if-none-match': String(headers.etag) } })
    assert.equal(answer.status, 304)
    assert.equal(remaining(answer), 58)
  })

  test('OPTIONS takes nothing, with a key or without', async () => {
    const { key } = await service.makeKey()
    const address = '203.0.113.41'
    for (let i = 0; i < 5; i++) {
      const answer = await ask('OPTIONS', '/v1/pets', { key, headers: { 'x-forwarded-for': address } })
      assert.equal(answer.status, 204)
    }
    assert.equal(remaining(await list(key)), 59)
    assert.equal(remaining(await anonymous(address)), 99)
  })

  test('GET /limits takes nothing, and is open when the windows are used up', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2 } })
    const address = '203.0.113.42'
    const headers = { 'x-forwarded-for': address }
    const fresh = await ask('GET', '/v1/limits', { key, headers })
    assert.equal(fresh.json.minute.resetsAt, null)
    assert.equal(fresh.json.day.resetsAt, null)
    for (let i = 0; i < 3; i++) await list(key)
    for (let i = 1; i < 60; i++) {
      const answer = await ask(i % 2 ? 'GET' : 'HEAD', '/v1/limits', { key, headers })
      assert.equal(answer.status, 200)
      assert.equal(remaining(answer), 0)
    }
    assert.equal(remaining(await anonymous(address)), 99)
    service.advance(minute)
    assert.equal(remaining(await list(key)), 1)
  })

  test('GET /limits without a valid key is 401, and taken from the address', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.43' }
    const answer = await ask('GET', '/v1/limits', { headers })
    assert.equal(answer.status, 401)
    assert.equal(remaining(answer), 99)
  })
})

describe('bans', () => {
  /** Uses the minute up and is refused so many times; answers the last refusal. */
  async function beRefused(key: string, allowance: number, refusals: number): Promise<Answer> {
    await Promise.all(Array.from({ length: allowance }, () => list(key)))
    const answers: Answer[] = []
    for (let i = 0; i < refusals; i++) answers.push(await list(key))
    for (const answer of answers.slice(0, -1)) assert.equal(answer.json.code, 'rate_limit_exceeded')
    return answers.at(-1) as Answer
  }
  const tight = { plan: 'enterprise', limits: { perMinute: 1 } }

  test('the 100th refusal inside one window bans the key for 5 minutes, and says so', async () => {
    const { id, key } = await service.makeKey()
    const last = await beRefused(key, 60, 100)
    const bannedUntil = service.now() + 5 * minute
    assert.equal(last.status, 429)
    assert.equal(last.json.code, 'key_banned')
    assert.equal(
      number(last, 'retry-after'),
      Math.ceil(bannedUntil / 1000) - Math.floor(service.now() / 1000),
    )
    assert.equal(reset(last), Math.ceil(bannedUntil / 1000))
    assert.equal(remaining(last), 0)
    const line = service.logLines
      .map((text) => JSON.parse(text))
      .find(({ keyId, msg }) => keyId === id && msg === 'key banned')
    assert.equal(line.until, new Date(bannedUntil).toISOString())
  })

  test('99 refusals do not ban', async () => {
    const { key } = await service.makeKey()
    assert.equal((await beRefused(key, 60, 99)).json.code, 'rate_limit_exceeded')
    service.advance(minute)
    assert.equal((await list(key)).status, 200)
  })

  test('refusals of different windows do not add up', async () => {
    const { key } = await service.makeKey(tight)
    for (let i = 0; i < 4; i++) {
      assert.equal((await beRefused(key, 1, 99)).json.code, 'rate_limit_exceeded')
      service.advance(minute)
    }
  })

  test('knocking on does not lengthen a ban, and takes nothing', async () => {
    const { key } = await service.makeKey(tight)
    const first = await beRefused(key, 1, 100)
    for (let i = 0; i < 150; i++) {
      const knock = await list(key)
      assert.equal(knock.json.code, 'key_banned')
      assert.equal(reset(knock), reset(first))
      service.advance(1_999)
    }
    service.advance(reset(first) * 1000 - service.now() - 1000)
    const last = await list(key)
    assert.equal(last.json.code, 'key_banned')
    service.advance(number(last, 'retry-after') * 1000)
    const back = await list(key)
    assert.equal(back.status, 200)
    assert.match(String(back.headers.ratelimit), /"day";r=999998;/)
  })

  test('each further ban within 24 hours of the last doubles, and 24 quiet hours begin anew', async () => {
    const { key } = await service.makeKey(tight)
    const lengths: number[] = []
    const beBanned = async () => {
      const banned = await beRefused(key, 1, 100)
      assert.equal(banned.json.code, 'key_banned')
      const { json } = await ask('GET', '/v1/limits', { key, headers: { 'x-forwarded-for': '203.0.113.44' } })
      const bannedUntil = Date.parse(json.bannedUntil)
      lengths.push((bannedUntil - service.now()) / minute)
      service.advance(bannedUntil - service.now())
    }
    for (let i = 0; i < 3; i++) await beBanned()
    service.advance(day - 1)
    await beBanned()
    service.advance(day)
    await beBanned()
    assert.deepEqual(lengths, [5, 10, 20, 40, 5])
  })

  test('the operator lifts a ban, and the next one lasts 5 minutes again', async () => {
    const { id, key } = await service.makeKey(tight)
    await beRefused(key, 1, 100)
    service.advance(minute)
    await ask('DELETE', `/v1/keys/${id}/ban`, { key: service.operatorKey })
    service.advance(1)
    const again = await beRefused(key, 1, 100)
    assert.equal(again.json.code, 'key_banned')
    assert.equal(reset(again), Math.ceil((service.now() + 5 * minute) / 1000))
  })

  test('a ban, its end and its memory survive a restart', async () => {
    const { key } = await service.makeKey(tight)
    const first = await beRefused(key, 1, 100)
    await service.restart()
    const still = await list(key)
    assert.equal(still.json.code, 'key_banned')
    assert.equal(reset(still), reset(first))
    service.advance(5 * minute)
    assert.equal((await beRefused(key, 1, 1)).json.code, 'rate_limit_exceeded')
    await service.restart()
    const second = await beRefused(key, 0, 99)
    assert.equal(second.json.code, 'key_banned')
    assert.equal(reset(second), Math.ceil((service.now() + 10 * minute) / 1000))
  })

  test('a lifted ban stays lifted over a restart', async () => {
    const { id, key } = await service.makeKey(tight)
    await beRefused(key, 1, 100)
    await ask('DELETE', `/v1/keys/${id}/ban`, { key: service.operatorKey })
    await service.restart()
    assert.equal((await list(key)).json.code, 'rate_limit_exceeded')
  })

  test('a banned key may look at its limits, and its address pays', async () => {
    const { key } = await service.makeKey(tight)
    await beRefused(key, 1, 100)
    const headers = { 'x-forwarded-for': '203.0.113.45' }
    for (let i = 0; i < 99; i++) {
      const answer = await ask('GET', '/v1/limits', { key, headers })
      assert.equal(answer.status, 200)
      assert.equal(answer.json.bannedUntil, new Date(service.now() + 5 * minute).toISOString())
    }
    assert.equal(remaining(await ask('GET', '/v1/pets', { headers })), 0)
    const refused = await ask('GET', '/v1/limits', { key, headers })
    assert.equal(refused.status, 429)
    assert.equal(refused.json.code, 'rate_limit_exceeded')
    assert.equal(limit(refused), 100)
    assert.equal(
      (await ask('GET', '/v1/limits', { key, headers: { 'x-forwarded-for': '203.0.113.46' } })).status,
      200,
    )
  })

  test('PETSTORE_BAN_AFTER_REFUSALS says how many refusals bring a ban', async () => {
    const { key } = await service.makeKey(tight)
    await service.restart({ PETSTORE_BAN_AFTER_REFUSALS: '3' })
    assert.equal((await beRefused(key, 1, 3)).json.code, 'key_banned')
    await service.restart()
  })
})

describe('callers without a valid key', () => {
  const wrongKeys: { name: string; key: () => Promise<string | undefined> }[] = [
    { name: 'no key', key: async () => undefined },
    { name: 'a wrong key', key: async () => 'nonsense' },
    {
      name: 'a revoked key',
      async key() {
        const { id, key } = await service.makeKey()
        await ask('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
        return key
      },
    },
  ]
  for (const [index, { name, key: makeKey }] of wrongKeys.entries()) {
    test(`have 100 a minute by their address: ${name}`, async () => {
      const address = `203.0.113.${50 + index}`
      const key = await makeKey()
      for (let i = 1; i <= 100; i++) {
        const answer = await anonymous(address, key)
        assert.equal(answer.status, 401)
        assert.equal(limit(answer), 100)
        assert.equal(remaining(answer), 100 - i)
        assert.equal(answer.headers['ratelimit-policy'], '"minute";q=100;w=60, "day";q=10000;w=86400')
      }
      const refused = await anonymous(address, key)
      assert.equal(refused.status, 429)
      assert.equal(refused.json.code, 'rate_limit_exceeded')
      assert.equal(refused.headers['www-authenticate'], undefined)
      service.advance(number(refused, 'retry-after') * 1000)
      assert.equal((await anonymous(address, key)).status, 401)
    })
  }

  test('share one allowance, whatever is wrong with their keys', async () => {
    const address = '203.0.113.60'
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, index) => anonymous(address, index % 2 ? 'nonsense' : undefined)),
    )
    assert.equal(answers.filter(({ status }) => status === 401).length, 100)
    assert.equal(answers.filter(({ status }) => status === 429).length, 50)
  })

  test('are never banned: the next minute is theirs', async () => {
    const address = '203.0.113.61'
    await Promise.all(Array.from({ length: 300 }, () => anonymous(address)))
    const refused = await anonymous(address)
    assert.equal(refused.json.code, 'rate_limit_exceeded')
    service.advance(minute)
    assert.equal((await anonymous(address)).status, 401)
  })

  test('do not hinder a valid key at the same address', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.62' }
    const { key } = await service.makeKey()
    await Promise.all(Array.from({ length: 120 }, () => ask('GET', '/v1/pets', { headers })))
    assert.equal((await ask('GET', '/v1/pets', { headers })).status, 429)
    const answer = await ask('GET', '/v1/pets', { key, headers })
    assert.equal(answer.status, 200)
    assert.equal(remaining(answer), 59)
    assert.equal((await ask('GET', '/v1/limits', { key, headers })).status, 200)
  })

  test('are not charged for what a valid key does', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.63' }
    const { key } = await service.makeKey()
    for (let i = 0; i < 70; i++) await ask('GET', '/v1/pets', { key, headers })
    assert.equal(remaining(await ask('GET', '/v1/pets', { headers })), 99)
  })

  test('are counted by /64 where they have IPv6', async () => {
    const left: number[] = []
    for (const address of [
      '2001:db8:7:1::1',
      '2001:db8:7:1:ffff:ffff:ffff:ffff',
      '2001:0DB8:0007:0001:0:0:0:2',
      '2001:db8:7:2::1',
      '2001:db8:7:1::3',
    ]) {
      left.push(remaining(await anonymous(address)))
    }
    assert.deepEqual(left, [99, 98, 97, 99, 96])
  })

  test('are told apart by what the trusted proxy wrote, not by what they claim', async () => {
    const left: number[] = []
    for (const header of ['203.0.113.70', '1.1.1.1, 203.0.113.70', '2.2.2.2,203.0.113.70', '203.0.113.71']) {
      left.push(remaining(await anonymous(header)))
    }
    assert.deepEqual(left, [99, 98, 97, 99])
  })
})

test('X-Forwarded-For of a stranger changes nothing', async () => {
  const open = await startTestService()
  try {
    for (let i = 0; i < 100; i++) {
      const answer = await open.request('GET', '/v1/pets', {
        headers: { 'x-forwarded-for': `203.0.113.${i}` },
      })
      assert.equal(remaining(answer), 99 - i)
    }
    const refused = await open.request('GET', '/v1/pets', { headers: { 'x-forwarded-for': '198.51.100.1' } })
    assert.equal(refused.status, 429)
  } finally {
    await open.stop()
  }
})
