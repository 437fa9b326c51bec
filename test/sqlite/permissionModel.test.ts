import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionFlags } from '../support/permissionFlags.ts'
import { runInProcess } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'

test("the embedded database is not served with Node's permission model, which disables syncs of files", async (t) => {
  const folder = folderFor(t)
  const nodeOptions = [...permissionFlags(), `--allow-fs-read=*`, `--allow-fs-write=${folder}/`]
  const env = { PETSTORE_DATA_DIR: folder, PORT: '0' }
  const { code, stderr } = await runInProcess(['serve'], env, '', { nodeOptions })
  assert.equal(code, 2, stderr)
  assert.match(stderr, /--permission.*DATABASE_URL/)
})
