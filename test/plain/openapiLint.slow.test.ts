import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { root } from '../support/openapi.ts'

describe('the committed openapi.json', () => {
  test('has no Redocly findings', async () => {
    const output = await lint('@redocly/cli', 'redocly', [
      'lint',
      'openapi.json',
      '--extends=recommended',
      '--format=json',
    ])
    const { totals, problems } = JSON.parse(output)
    assert.deepEqual({ totals, problems }, { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] })
  })

  test('has no findings of the Spectral OpenAPI ruleset', async () => {
    const output = await lint('@stoplight/spectral-cli', 'spectral', [
      'lint',
      'openapi.json',
      '--ruleset=.spectral.yaml',
      '--fail-severity=hint',
      '--format=json',
      '--quiet',
    ])
    assert.deepEqual(JSON.parse(output), [])
    assert.deepEqual(parse(readFileSync(`${root}.spectral.yaml`, 'utf8')), { extends: ['spectral:oas'] })
  })
})

/** Runs the linter of a package without network access. */
async function lint(packageName: string, binName: string, args: string[]): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`)
  const bin = JSON.parse(readFileSync(manifest, 'utf8')).bin[binName]
  const closed = 'http://127.0.0.1:9'
  const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env
  const env = {
    ...inherited,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    SCARF_ANALYTICS: 'false',
    DO_NOT_TRACK: '1',
    HTTP_PROXY: closed,
    HTTPS_PROXY: closed,
  }
  return new Promise((done, fail) => {
    execFile(
      process.execPath,
      [join(dirname(manifest), bin), ...args],
      { cwd: root, env },
      (error, stdout, stderr) => {
        if (error && stdout === '') fail(new Error(`${binName} did not run:\n${stderr}`))
        else done(stdout)
      },
    )
  })
}
