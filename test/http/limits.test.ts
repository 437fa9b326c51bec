import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultScopes } from '../../src/keys/key.ts'
import type { ClientResponse, RequestOptions } from '../support/client.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const minute = 60_000
const day = 86_400_000

// The tests set the client address in X-Forwarded-For.
const service = useService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })

/** Sends a request and checks the rate limit headers of the response. */
async function send(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
  const response = await service.request(method, path, options)
  assertHeaders(response, service.now())
  return response
}
const list = (key: string) => send('GET', '/v1/pets', { key })
const anonymous = (address: string, key?: string) =>
  send('GET', '/v1/pets', { key, headers: { 'x-forwarded-for': address } })

const number = (response: ClientResponse, header: string): number => {
  assert.match(String(response.headers[header]), /^\d+$/, header)
  return Number(response.headers[header])
}
const remaining = (response: ClientResponse) => number(response, 'x-ratelimit-remaining')
const limit = (response: ClientResponse) => number(response, 'x-ratelimit-limit')
const reset = (response: ClientResponse) => number(response, 'x-ratelimit-reset')

function assertHeaders(response: ClientResponse, now: number): void {
  const policy = /^"minute";q=(\d+);w=60, "day";q=(\d+);w=86400$/.exec(
    String(response.headers['ratelimit-policy']),
  )
  const state = /^"minute";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+)$/.exec(String(response.headers.ratelimit))
  assert.ok(policy && state, `${response.headers['ratelimit-policy']} / ${response.headers.ratelimit}`)
  const [minuteLimit, dayLimit] = policy.slice(1).map(Number) as [number, number]
  const [minuteLeft, minuteSeconds, dayLeft, daySeconds] = state.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  assert.ok(minuteSeconds >= 1 && daySeconds >= 1 && daySeconds <= 86_400)
  assert.ok(minuteLeft <= minuteLimit && dayLeft <= dayLimit)
  assert.equal(remaining(response), Math.min(minuteLeft, dayLeft))
  const isBanned = response.json?.code === 'key_banned' || response.json?.bannedUntil
  if (isBanned) {
    assert.deepEqual([minuteLeft, dayLeft], [0, 0])
    for (const seconds of [minuteSeconds, daySeconds])
      assert.ok(now + seconds * 1000 > reset(response) * 1000 - 1000)
  } else {
    assert.ok(minuteSeconds <= 60)
    const isMinute = minuteLeft === dayLeft ? minuteSeconds > daySeconds : minuteLeft < dayLeft
    assert.equal(limit(response), isMinute ? minuteLimit : dayLimit)
    const endsBy = now + (isMinute ? minuteSeconds : daySeconds) * 1000
    assert.ok(reset(response) * 1000 > endsBy - 1000 && reset(response) * 1000 < endsBy + 1000)
  }
  assert.equal('retry-after' in response.headers, response.status === 429)
  if (response.status !== 429) return
  assert.equal(remaining(response), 0)
  const back = now + number(response, 'retry-after') * 1000
  assert.ok(back >= reset(response) * 1000 && back < reset(response) * 1000 + 1000)
}

describe('of 200 concurrent requests with a new free key', () => {
  for (let round = 1; round <= 20; round++) {
    test(`exactly 60 are admitted, round ${round}`, async () => {
      const { key } = await service.makeKey()
      const responses = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          index % 2 === 0
            ? list(key)
            : send('POST', '/v1/pets', { key, body: { name: `Milo ${index}`, categoryId: 3 } }),
        ),
      )
      const admitted = responses.filter(({ status }) => status === 200 || status === 201)
      assert.deepEqual(
        admitted.map(remaining).toSorted((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index),
      )
      const rejected = responses.filter(({ status }) => status === 429).map(({ json }) => json.code)
      assert.equal(rejected.length, 140)
      assert.equal(rejected.filter((code) => code === 'rate_limit_exceeded').length, 99)
      assert.equal(rejected.filter((code) => code === 'key_banned').length, 41)
    })
  }

  test('no more are admitted after a clean restart', async () => {
    const { key } = await service.makeKey()
    const burst = () => Promise.all(Array.from({ length: 40 }, () => list(key)))
    const first = await burst()
    await service.restart()
    const second = await burst()
    const admitted = (responses: ClientResponse[]) => responses.filter(({ status }) => status === 200).length
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
    const response = await list(key)
    assert.equal(
      response.headers['ratelimit-policy'],
      `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`,
    )
    assert.equal(
      response.headers.ratelimit,
      `"minute";r=${perMinute - 1};t=60, "day";r=${perDay - 1};t=86400`,
    )
    assert.equal(limit(response), perMinute)
    assert.equal(remaining(response), perMinute - 1)
    const { json } = await send('GET', '/v1/limits', { key })
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
  test('a minute window opens with the first request after the last one ended, and lasts 60 seconds', async () => {
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
    test(`a request after Retry-After is admitted, ${oddMs} ms past the second`, async () => {
      service.advance(1000 - (service.now() % 1000) + oddMs)
      const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
      await list(key)
      for (const laterMs of [0, 1, 499, 998]) {
        service.advance(laterMs)
        const rejected = await list(key)
        assert.equal(rejected.status, 429)
        assert.equal(rejected.json.code, 'rate_limit_exceeded')
        assert.equal(rejected.json.status, 429)
      }
      const rejected = await list(key)
      service.advance(number(rejected, 'retry-after') * 1000)
      assert.ok(service.now() >= reset(rejected) * 1000)
      assert.equal((await list(key)).status, 200)
    })
  }

  test('the headers describe the window with the fewest requests left, and on a tie the one that resets later', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 3, perDay: 5 } })
    const opened = service.now()
    const seen: [number, number, number][] = []
    const look = async () => {
      const response = await list(key)
      seen.push([response.status, limit(response), remaining(response)])
      return response
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
    const rejected = await list(key)
    assert.equal(reset(rejected), Math.ceil((opened + day) / 1000))
    assert.equal(
      number(rejected, 'retry-after'),
      Math.ceil((opened + day) / 1000) - Math.floor(service.now() / 1000),
    )
    service.advance(number(rejected, 'retry-after') * 1000)
    assert.equal((await list(key)).status, 200)

    const tied = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2, perDay: 2 } })
    const response = await list(tied.key)
    assert.equal(reset(response), Math.ceil((service.now() + day) / 1000))
  })

  test('a free key has exactly 1,000 requests a day', async () => {
    const { key } = await service.makeKey()
    const opened = service.now()
    let admitted = 0
    for (let passed = 0; passed < 17; passed++) {
      const responses = await Promise.all(Array.from({ length: 60 }, () => list(key)))
      admitted += responses.filter(({ status }) => status === 200).length
      service.advance(minute)
    }
    assert.equal(admitted, 1_000)
    const rejected = await list(key)
    assert.equal(rejected.status, 429)
    assert.equal(limit(rejected), 1_000)
    assert.equal(reset(rejected), Math.ceil((opened + day) / 1000))
    service.advance(opened + day - service.now())
    assert.equal((await list(key)).status, 200)
  })

  test('a rejected request consumes from neither window', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2, perDay: 3 } })
    for (let i = 0; i < 2; i++) await list(key)
    for (let i = 0; i < 20; i++) {
      const rejected = await list(key)
      assert.match(String(rejected.headers.ratelimit), /"day";r=1;/)
    }
    service.advance(minute)
    const third = await list(key)
    assert.equal(third.status, 200)
    assert.match(String(third.headers.ratelimit), /"minute";r=1;.*"day";r=0;/)
  })

  test('a clean restart keeps both windows', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 4, perDay: 6 } })
    for (let i = 0; i < 3; i++) await list(key)
    const before = await send('GET', '/v1/limits', { key })
    await service.restart()
    assert.deepEqual((await send('GET', '/v1/limits', { key })).json, before.json)
    assert.equal((await list(key)).status, 200)
    assert.equal((await list(key)).status, 429)
    await service.restart()
    service.advance(minute)
    assert.equal(remaining(await list(key)), 1)
    assert.equal(remaining(await list(key)), 0)
    assert.equal((await list(key)).status, 429)
  })

  test('after the clock is set back, a caller waits at most one window', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    const address = '203.0.113.40'
    await list(key)
    for (let i = 0; i < 100; i++) await anonymous(address)
    service.advance(-3_600_000)
    for (const rejected of [await list(key), await anonymous(address)]) {
      assert.equal(rejected.status, 429)
      // Up to a second more than the window: the reset is rounded up to whole seconds.
      assert.ok(number(rejected, 'retry-after') <= 61)
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
    { name: 'a page of pets', method: 'GET', path: '/v1/pets', status: 200 },
    { name: 'HEAD', method: 'HEAD', path: '/v1/pets', status: 200 },
    {
      name: 'creating a pet',
      method: 'POST',
      path: '/v1/pets',
      options: { body: { name: 'Milo', categoryId: 3 } },
      status: 201,
    },
    { name: 'an unknown path', method: 'GET', path: '/v1/nowhere', status: 404 },
    { name: 'an unknown pet', method: 'GET', path: '/v1/pets/999999', status: 404 },
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
    test(`${name} (${status}) counts once`, async () => {
      const { key } = await service.makeKey(settings)
      const first = await send(method, path, { key, ...options })
      assert.equal(first.status, status)
      assert.equal(remaining(first), 59)
      const second = await send(method, path, { key, ...options })
      assert.equal(remaining(second), 58)
      assert.match(String(second.headers.ratelimit), /"day";r=998;/)
    })
  }

  test('an unchanged page (304) counts once', async () => {
    const { key } = await service.makeKey()
    const { headers } = await list(key)
    const response = await send('GET', '/v1/pets', {
      key,
      headers: { 'if-none-match': String(headers.etag) },
    })
    assert.equal(response.status, 304)
    assert.equal(remaining(response), 58)
  })

  test('OPTIONS does not count, with or without a key', async () => {
    const { key } = await service.makeKey()
    const address = '203.0.113.41'
    for (let i = 0; i < 5; i++) {
      const response = await send('OPTIONS', '/v1/pets', { key, headers: { 'x-forwarded-for': address } })
      assert.equal(response.status, 204)
    }
    assert.equal(remaining(await list(key)), 59)
    assert.equal(remaining(await anonymous(address)), 99)
  })

  test('GET /limits does not count, and works when the windows are used up', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 2 } })
    const address = '203.0.113.42'
    const headers = { 'x-forwarded-for': address }
    const fresh = await send('GET', '/v1/limits', { key, headers })
    assert.equal(fresh.json.minute.resetsAt, null)
    assert.equal(fresh.json.day.resetsAt, null)
    for (let i = 0; i < 3; i++) await list(key)
    for (let i = 1; i < 60; i++) {
      const response = await send(i % 2 ? 'GET' : 'HEAD', '/v1/limits', { key, headers })
      assert.equal(response.status, 200)
      assert.equal(remaining(response), 0)
    }
    assert.equal(remaining(await anonymous(address)), 99)
    service.advance(minute)
    assert.equal(remaining(await list(key)), 1)
  })

  test('GET /limits without a valid key is 401 and counts for the address', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.43' }
    const response = await send('GET', '/v1/limits', { headers })
    assert.equal(response.status, 401)
    assert.equal(remaining(response), 99)
  })
})

describe('bans', () => {
  /** Uses up the minute, then sends requests that are rejected. Returns the last response. */
  async function exceedLimit(key: string, limit: number, rejections: number): Promise<ClientResponse> {
    await Promise.all(Array.from({ length: limit }, () => list(key)))
    const responses: ClientResponse[] = []
    for (let i = 0; i < rejections; i++) responses.push(await list(key))
    for (const response of responses.slice(0, -1)) assert.equal(response.json.code, 'rate_limit_exceeded')
    return responses.at(-1) as ClientResponse
  }
  const tight = { plan: 'enterprise', limits: { perMinute: 1 } }

  test('the 100th rejection in one window bans the key for 5 minutes, and the ban is logged', async () => {
    const { id, key } = await service.makeKey()
    const last = await exceedLimit(key, 60, 100)
    const bannedUntil = service.now() + 5 * minute
    assert.equal(last.status, 429)
    assert.equal(last.json.code, 'key_banned')
    assert.equal(
      number(last, 'retry-after'),
      Math.ceil(bannedUntil / 1000) - Math.floor(service.now() / 1000),
    )
    assert.equal(reset(last), Math.ceil(bannedUntil / 1000))
    const left = Math.ceil((bannedUntil - service.now()) / 1000)
    assert.equal(last.headers.ratelimit, `"minute";r=0;t=${left}, "day";r=0;t=${left}`)
    assert.equal(remaining(last), 0)
    const line = service.logLines
      .map((text) => JSON.parse(text))
      .find(({ keyId, msg }) => keyId === id && msg === 'key banned')
    assert.equal(line.until, new Date(bannedUntil).toISOString())
  })

  test('99 rejections do not ban', async () => {
    const { key } = await service.makeKey()
    assert.equal((await exceedLimit(key, 60, 99)).json.code, 'rate_limit_exceeded')
    service.advance(minute)
    assert.equal((await list(key)).status, 200)
  })

  test('rejections in different windows do not add up', async () => {
    const { key } = await service.makeKey(tight)
    for (let i = 0; i < 4; i++) {
      assert.equal((await exceedLimit(key, 1, 99)).json.code, 'rate_limit_exceeded')
      service.advance(minute)
    }
  })

  test('requests during a ban do not extend it and do not count', async () => {
    const { key } = await service.makeKey(tight)
    const first = await exceedLimit(key, 1, 100)
    for (let i = 0; i < 150; i++) {
      const during = await list(key)
      assert.equal(during.json.code, 'key_banned')
      assert.equal(reset(during), reset(first))
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

  test('each ban within 24 hours of the last one lasts twice as long, and 24 hours without a ban reset it', async () => {
    const { key } = await service.makeKey(tight)
    const lengths: number[] = []
    const beBanned = async () => {
      const banned = await exceedLimit(key, 1, 100)
      assert.equal(banned.json.code, 'key_banned')
      const { json } = await send('GET', '/v1/limits', {
        key,
        headers: { 'x-forwarded-for': '203.0.113.44' },
      })
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
    await exceedLimit(key, 1, 100)
    service.advance(minute)
    await send('DELETE', `/v1/keys/${id}/ban`, { key: service.operatorKey })
    service.advance(1)
    const again = await exceedLimit(key, 1, 100)
    assert.equal(again.json.code, 'key_banned')
    assert.equal(reset(again), Math.ceil((service.now() + 5 * minute) / 1000))
  })

  test('a ban, its end and its length persist over a restart', async () => {
    const { key } = await service.makeKey(tight)
    const first = await exceedLimit(key, 1, 100)
    await service.restart()
    const still = await list(key)
    assert.equal(still.json.code, 'key_banned')
    assert.equal(reset(still), reset(first))
    service.advance(5 * minute)
    assert.equal((await exceedLimit(key, 1, 1)).json.code, 'rate_limit_exceeded')
    await service.restart()
    const second = await exceedLimit(key, 0, 99)
    assert.equal(second.json.code, 'key_banned')
    assert.equal(reset(second), Math.ceil((service.now() + 10 * minute) / 1000))
  })

  test('a lifted ban stays lifted over a restart', async () => {
    const { id, key } = await service.makeKey(tight)
    await exceedLimit(key, 1, 100)
    await send('DELETE', `/v1/keys/${id}/ban`, { key: service.operatorKey })
    await service.restart()
    assert.equal((await list(key)).json.code, 'rate_limit_exceeded')
  })

  test('GET /limits works with a banned key and counts for the address', async () => {
    const { key } = await service.makeKey(tight)
    await exceedLimit(key, 1, 100)
    const headers = { 'x-forwarded-for': '203.0.113.45' }
    for (let i = 0; i < 99; i++) {
      const response = await send('GET', '/v1/limits', { key, headers })
      assert.equal(response.status, 200)
      assert.equal(response.json.bannedUntil, new Date(service.now() + 5 * minute).toISOString())
    }
    assert.equal(remaining(await send('GET', '/v1/pets', { headers })), 0)
    const rejected = await send('GET', '/v1/limits', { key, headers })
    assert.equal(rejected.status, 429)
    assert.equal(rejected.json.code, 'rate_limit_exceeded')
    assert.equal(limit(rejected), 100)
    assert.equal(
      (await send('GET', '/v1/limits', { key, headers: { 'x-forwarded-for': '203.0.113.46' } })).status,
      200,
    )
  })

  test('PETSTORE_BAN_AFTER_REFUSALS sets the number of rejections before a ban', async () => {
    const { key } = await service.makeKey(tight)
    await service.restart({ PETSTORE_BAN_AFTER_REFUSALS: '3' })
    assert.equal((await exceedLimit(key, 1, 3)).json.code, 'key_banned')
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
        await send('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
        return key
      },
    },
  ]
  for (const [index, { name, key: makeKey }] of wrongKeys.entries()) {
    test(`have 100 requests a minute by address: ${name}`, async () => {
      const address = `203.0.113.${50 + index}`
      const key = await makeKey()
      for (let i = 1; i <= 100; i++) {
        const response = await anonymous(address, key)
        assert.equal(response.status, 401)
        assert.equal(limit(response), 100)
        assert.equal(remaining(response), 100 - i)
        assert.equal(response.headers['ratelimit-policy'], '"minute";q=100;w=60, "day";q=10000;w=86400')
      }
      const rejected = await anonymous(address, key)
      assert.equal(rejected.status, 429)
      assert.equal(rejected.json.code, 'rate_limit_exceeded')
      assert.equal(rejected.headers['www-authenticate'], undefined)
      service.advance(number(rejected, 'retry-after') * 1000)
      assert.equal((await anonymous(address, key)).status, 401)
    })
  }

  test('share one limit for every kind of invalid key', async () => {
    const address = '203.0.113.60'
    const responses = await Promise.all(
      Array.from({ length: 150 }, (_, index) => anonymous(address, index % 2 ? 'nonsense' : undefined)),
    )
    assert.equal(responses.filter(({ status }) => status === 401).length, 100)
    assert.equal(responses.filter(({ status }) => status === 429).length, 50)
  })

  test('are never banned: they are admitted in the next minute', async () => {
    const address = '203.0.113.61'
    await Promise.all(Array.from({ length: 300 }, () => anonymous(address)))
    const rejected = await anonymous(address)
    assert.equal(rejected.json.code, 'rate_limit_exceeded')
    service.advance(minute)
    assert.equal((await anonymous(address)).status, 401)
  })

  test('do not affect a valid key at the same address', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.62' }
    const { key } = await service.makeKey()
    await Promise.all(Array.from({ length: 120 }, () => send('GET', '/v1/pets', { headers })))
    assert.equal((await send('GET', '/v1/pets', { headers })).status, 429)
    const response = await send('GET', '/v1/pets', { key, headers })
    assert.equal(response.status, 200)
    assert.equal(remaining(response), 59)
    assert.equal((await send('GET', '/v1/limits', { key, headers })).status, 200)
  })

  test('are not counted for requests with a valid key', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.63' }
    const { key } = await service.makeKey()
    for (let i = 0; i < 70; i++) await send('GET', '/v1/pets', { key, headers })
    assert.equal(remaining(await send('GET', '/v1/pets', { headers })), 99)
  })

  test('are counted by /64 with IPv6', async () => {
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

  test('are identified by the address that the trusted proxy added', async () => {
    const left: number[] = []
    for (const header of ['203.0.113.70', '1.1.1.1, 203.0.113.70', '2.2.2.2,203.0.113.70', '203.0.113.71']) {
      left.push(remaining(await anonymous(header)))
    }
    assert.deepEqual(left, [99, 98, 97, 99])
  })
})

test('X-Forwarded-For is ignored unless a trusted proxy sends it', async () => {
  const open = await startTestService()
  try {
    for (let i = 0; i < 100; i++) {
      const response = await open.request('GET', '/v1/pets', {
        headers: { 'x-forwarded-for': `203.0.113.${i}` },
      })
      assert.equal(remaining(response), 99 - i)
    }
    const rejected = await open.request('GET', '/v1/pets', { headers: { 'x-forwarded-for': '198.51.100.1' } })
    assert.equal(rejected.status, 429)
  } finally {
    await open.stop()
  }
})
