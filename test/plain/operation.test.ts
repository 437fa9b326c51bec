import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineOperation, respond } from '../../src/api/operation.ts'

const common = { tag: 'Pets', summary: 'Add a picture', responses: {} }
const write = async () => respond(204)
const binary = { responses: { 200: { description: 'The picture.', types: ['image/webp'] } } }

describe('a definition is rejected', () => {
  test('with both writeBatch and prepare, because a batch is not prepared', () => {
    const prepare = async () => 1
    const writeBatch = async () => []
    const define = (parts: object) => defineOperation('addPicture', 'POST /x', { ...common, write, ...parts })
    assert.throws(() => define({ prepare, writeBatch }), /addPicture .*writeBatch.*prepare/)
    assert.equal(define({ prepare }).id, 'addPicture')
    assert.equal(define({ writeBatch }).id, 'addPicture')
  })

  test('of a POST whose response is not JSON, because it could not be replayed', () => {
    const define = (route: `${'GET' | 'POST' | 'PATCH'} /x`) =>
      defineOperation('editPicture', route, { ...common, ...binary, write })
    assert.throws(() => define('POST /x'), /editPicture .*not JSON/)
    assert.equal(define('GET /x').method, 'GET')
    assert.equal(define('PATCH /x').method, 'PATCH')
  })
})
