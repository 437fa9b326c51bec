import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { ConfigError, readConfig, unknownSettingWarnings } from '../../src/config.ts'
import { runPetstore } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'

test('the documented defaults apply without settings', () => {
  const { trustedProxies, webhookAllow, ...config } = readConfig({})
  assert.deepEqual(config, {
    host: '127.0.0.1',
    port: 8080,
    environment: 'production',
    dataDir: resolve('./data'),
    databaseUrl: undefined,
    databaseReadUrl: undefined,
    databasePoolMax: 10,
    isAutoMigrate: true,
    adminKey: undefined,
    publicUrl: undefined,
    productionUrl: undefined,
    stagingUrl: undefined,
    connectionsPerAddressMax: 2_000,
    banAfterRejections: 100,
    orderHoldMs: 72 * 60 * 60 * 1000,
    isMetricsOpen: false,
    logLevel: 'info',
    logFormat: 'auto',
  })
  assert.deepEqual(trustedProxies.rules, [])
  assert.deepEqual(webhookAllow.rules, [])
})

test('empty and blank settings count as unset', () => {
  const names = [
    ...['PORT', 'HOST', 'PETSTORE_ENV', 'PETSTORE_DATA_DIR', 'PETSTORE_PUBLIC_URL'],
    ...['DATABASE_URL', 'DATABASE_READ_URL'],
    ...[
      'PETSTORE_CONNECTIONS_PER_ADDRESS',
      'PETSTORE_ORDER_HOLD_HOURS',
      'PETSTORE_WEBHOOK_ALLOW',
      'PETSTORE_DATABASE_POOL',
      'PETSTORE_AUTO_MIGRATE',
      'PETSTORE_METRICS_OPEN',
    ],
  ]
  const {
    trustedProxies: _none,
    webhookAllow: _noneEither,
    ...blank
  } = readConfig({
    ...Object.fromEntries(names.map((name) => [name, '  '])),
    PETSTORE_ADMIN_KEY: '',
    PETSTORE_TRUSTED_PROXIES: ' , ',
  })
  const { trustedProxies: _same, webhookAllow: _sameEither, ...defaults } = readConfig({})
  assert.deepEqual(blank, defaults)
})

test('the configuration is frozen', () => {
  assert.ok(Object.isFrozen(readConfig({})))
})

describe('valid settings are accepted', () => {
  const adminKey = generateApiKey('staging')
  const scenarios: [Record<string, string>, Record<string, unknown>][] = [
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65535 }],
    [{ HOST: '::' }, { host: '::' }],
    [{ HOST: 'localhost' }, { host: 'localhost' }],
    [{ PETSTORE_ENV: 'staging' }, { environment: 'staging' }],
    [{ PETSTORE_DATA_DIR: '/var/lib/petstore' }, { dataDir: '/var/lib/petstore' }],
    [{ PETSTORE_ADMIN_KEY: 'x'.repeat(32) }, { adminKey: 'x'.repeat(32) }],
    [{ PETSTORE_ENV: 'staging', PETSTORE_ADMIN_KEY: adminKey }, { adminKey }],
    [{ PETSTORE_PUBLIC_URL: 'https://api.example/' }, { publicUrl: 'https://api.example' }],
    [{ PETSTORE_PRODUCTION_URL: 'https://api.example/v1/' }, { productionUrl: 'https://api.example' }],
    [{ PETSTORE_STAGING_URL: 'http://10.1.2.3:81/shop' }, { stagingUrl: 'http://10.1.2.3:81/shop' }],
    [{ PETSTORE_BAN_AFTER_REFUSALS: '1' }, { banAfterRejections: 1 }],
    [{ PETSTORE_CONNECTIONS_PER_ADDRESS: '1' }, { connectionsPerAddressMax: 1 }],
    [{ PETSTORE_CONNECTIONS_PER_ADDRESS: '1000000' }, { connectionsPerAddressMax: 1_000_000 }],
    [{ PETSTORE_ORDER_HOLD_HOURS: '1' }, { orderHoldMs: 60 * 60 * 1000 }],
    [{ PETSTORE_ORDER_HOLD_HOURS: '8760' }, { orderHoldMs: 365 * 24 * 60 * 60 * 1000 }],
    [{ PETSTORE_LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
    [{}, { logFormat: 'auto' }],
    [{ PETSTORE_LOG_FORMAT: 'text' }, { logFormat: 'text' }],
    [{ DATABASE_URL: 'postgres://localhost/petstore' }, { databaseUrl: 'postgres://localhost/petstore' }],
    [
      { DATABASE_URL: 'postgresql://a:b@db:1/c?sslmode=no' },
      { databaseUrl: 'postgresql://a:b@db:1/c?sslmode=no' },
    ],
    [
      { DATABASE_URL: 'postgres://a/b', DATABASE_READ_URL: 'postgres://c/b' },
      { databaseReadUrl: 'postgres://c/b' },
    ],
    [{ PETSTORE_DATABASE_POOL: '1000' }, { databasePoolMax: 1_000 }],
    [{ PETSTORE_AUTO_MIGRATE: 'false' }, { isAutoMigrate: false }],
    [{ PETSTORE_METRICS_OPEN: 'true' }, { isMetricsOpen: true }],
    [{ PETSTORE_METRICS_OPEN: 'false' }, { isMetricsOpen: false }],
  ]
  for (const [env, expected] of scenarios) {
    test(JSON.stringify(Object.keys(expected)), () => {
      const config = readConfig(env) as unknown as Record<string, unknown>
      for (const [name, value] of Object.entries(expected)) assert.equal(config[name], value)
    })
  }

  for (const [setting, name] of [
    ['PETSTORE_TRUSTED_PROXIES', 'trustedProxies'],
    ['PETSTORE_WEBHOOK_ALLOW', 'webhookAllow'],
  ] as const) {
    test(`${setting} as addresses and as ranges of both families`, () => {
      const { [name]: listed } = readConfig({ [setting]: '10.0.0.0/8, 192.0.2.7,fd00::/8 , ::1' })
      for (const [address, family, isListed] of [
        ['10.255.0.1', 'ipv4', true],
        ['11.0.0.1', 'ipv4', false],
        ['192.0.2.7', 'ipv4', true],
        ['192.0.2.8', 'ipv4', false],
        ['fd12::1', 'ipv6', true],
        ['fe80::1', 'ipv6', false],
        ['::1', 'ipv6', true],
      ] as const)
        assert.equal(listed.check(address, family), isListed, address)
    })
  }
})

const badSettings: [name: string, value: string][] = [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', 'eighty'],
  ['HOST', 'http://localhost'],
  ['HOST', 'two words'],
  ['PETSTORE_ENV', 'prod'],
  ['PETSTORE_ADMIN_KEY', 'x'.repeat(31)],
  ['PETSTORE_ADMIN_KEY', 'x'.repeat(256)],
  ['PETSTORE_ADMIN_KEY', 'more than thirty-two characters, and blanks'],
  ['PETSTORE_ADMIN_KEY', 'schlüssel-schlüssel-schlüssel-schlüssel'],
  ['PETSTORE_ADMIN_KEY', 'ps_live_thisOneHasAWrongChecksumAtItsEnd0'],
  ['PETSTORE_ADMIN_KEY', generateApiKey('staging')],
  ['PETSTORE_PUBLIC_URL', 'api.example'],
  ['PETSTORE_PUBLIC_URL', 'ftp://api.example'],
  ['PETSTORE_PRODUCTION_URL', 'https://api.example/?page=1'],
  ['PETSTORE_STAGING_URL', 'https://api.example/#top'],
  ['PETSTORE_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['PETSTORE_TRUSTED_PROXIES', '10.0.0.0/8/8'],
  ['PETSTORE_TRUSTED_PROXIES', 'everybody'],
  ['PETSTORE_BAN_AFTER_REFUSALS', '0'],
  ['PETSTORE_METRICS_OPEN', '1'],
  ['PETSTORE_METRICS_OPEN', 'yes'],
  ['PETSTORE_METRICS_OPEN', 'TRUE'],
  ['PETSTORE_CONNECTIONS_PER_ADDRESS', '0'],
  ['PETSTORE_CONNECTIONS_PER_ADDRESS', '1000001'],
  ['PETSTORE_CONNECTIONS_PER_ADDRESS', 'many'],
  ['PETSTORE_ORDER_HOLD_HOURS', '0'],
  ['PETSTORE_ORDER_HOLD_HOURS', '8761'],
  ['PETSTORE_ORDER_HOLD_HOURS', '1.5'],
  ['PETSTORE_ORDER_HOLD_HOURS', 'soon'],
  ['PETSTORE_WEBHOOK_ALLOW', '10.0.0.0/33'],
  ['PETSTORE_WEBHOOK_ALLOW', 'fd00::/129'],
  ['PETSTORE_WEBHOOK_ALLOW', 'localhost'],
  ['PETSTORE_LOG_LEVEL', 'loud'],
  ['PETSTORE_LOG_FORMAT', 'xml'],
  ['PETSTORE_DATABASE_POOL', '0'],
  ['PETSTORE_DATABASE_POOL', '1001'],
  ['PETSTORE_AUTO_MIGRATE', 'no'],
  ['DATABASE_URL', 'mysql://localhost/petstore'],
  ['DATABASE_URL', 'postgres://localhost'],
  ['DATABASE_URL', 'localhost/petstore'],
  ['DATABASE_READ_URL', 'mysql://localhost/petstore'],
  ['DATABASE_READ_URL', 'localhost/petstore'],
]

describe('an invalid setting is reported by its name', () => {
  for (const [name, value] of badSettings) {
    test(`${name}=${value.slice(0, 30)}`, () => {
      const { problems } = problemsOf({ [name]: value })
      assert.equal(problems.length, 1)
      assert.match(problems[0] ?? '', new RegExp(`^${name} `))
    })
  }
})

test('a replica needs a database', () => {
  const { problems } = problemsOf({ DATABASE_READ_URL: 'postgres://localhost/petstore', DATABASE_URL: ' ' })
  assert.equal(problems.length, 1)
  assert.match(problems[0] ?? '', /^DATABASE_READ_URL /)
})

test('all invalid settings are reported in one message', () => {
  const env = Object.fromEntries(badSettings)
  const { message, problems } = problemsOf(env)
  assert.equal(problems.length, Object.keys(env).length)
  for (const name of Object.keys(env)) assert.match(message, new RegExp(`^ {2}- ${name} `, 'm'))
})

test('every invalid entry of a list is reported', () => {
  for (const name of ['PETSTORE_TRUSTED_PROXIES', 'PETSTORE_WEBHOOK_ALLOW']) {
    const { problems } = problemsOf({ [name]: 'here,10.0.0.1,there' })
    assert.equal(problems.length, 2)
  }
})

describe('secrets are not printed', () => {
  for (const [name, value, secret] of [
    ['PETSTORE_ADMIN_KEY', 'short-secret', 'short-secret'],
    ['PETSTORE_ADMIN_KEY', generateApiKey('staging'), '_test_'],
    ['PETSTORE_PUBLIC_URL', 'https://user:hunter2@api.example', 'hunter2'],
    ['PETSTORE_PUBLIC_URL', 'https://hunter2@api.example', 'hunter2'],
    ['PETSTORE_PUBLIC_URL', 'https://user:hunter2@api.example:99999', 'hunter2'],
    ['PETSTORE_STAGING_URL', 'https://api.example/?token=hunter2', 'hunter2'],
    ['DATABASE_URL', 'mysql://petstore:hunter2@db.example/petstore', 'hunter2'],
    ['DATABASE_URL', 'postgres://petstore:hunter2@db.example:99999/petstore', 'hunter2'],
    ['DATABASE_READ_URL', 'postgres://petstore:hunter2@db.example/petstore', 'hunter2'],
  ] as const) {
    test(`of ${name}=${value.replace(secret, '...')}`, () => {
      const { message } = problemsOf({ [name]: value })
      assert.ok(message.includes(name))
      assert.ok(!message.includes(secret), message)
    })
  }
})

test('a warning names each unknown setting and the most similar known one', () => {
  const env = {
    PETSTORE_DATADIR: 'x',
    PETSTORE_WEBHOOKS_ALLOWED: '',
    PETSTORE_ENV: 'staging',
    PETSTORE_KEY: 'ps_live_x',
    PETSTORE: 'x',
    HOSTNAME: 'x',
  }
  assert.deepEqual(unknownSettingWarnings(env), [
    'PETSTORE_DATADIR is not a setting and is ignored. Did you mean PETSTORE_DATA_DIR?',
    'PETSTORE_WEBHOOKS_ALLOWED is not a setting and is ignored. Did you mean PETSTORE_WEBHOOK_ALLOW?',
  ])
})

describe('the process with an invalid configuration', () => {
  test('exits with status 2, prints all problems to stderr and creates no data folder', async (t) => {
    const folder = folderFor(t)
    const env = {
      ...Object.fromEntries(badSettings),
      PETSTORE_ADMIN_KEY: 'a short secret',
      PETSTORE_DATA_DIR: `${folder}/data`,
    }
    for (const args of [['serve'], ['keys', 'list'], ['export'], ['openapi']]) {
      const { code, stdout, stderr } = await runPetstore(args, env)
      assert.equal(code, 2, args.join(' '))
      assert.equal(stdout, '')
      assert.equal(stderr.match(/^ {2}- /gm)?.length, Object.keys(env).length - 1)
      assert.ok(!stderr.includes('a short secret'))
      assert.doesNotMatch(stderr, /\n {4}at /)
    }
    assert.deepEqual(readdirSync(folder), [])
  })
})

function problemsOf(env: Record<string, string>): ConfigError {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error
  }
  throw new assert.AssertionError({ message: 'The configuration was accepted.' })
}
