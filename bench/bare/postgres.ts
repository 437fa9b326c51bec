/** One `pg` query per request over `node:http`, without key, rate limit or validation: GET lists, POST creates. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { Pool, types } from 'pg'

const int8 = 20
types.setTypeParser(int8, Number)
const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.PETSTORE_DATABASE_POOL ?? 10),
})
const page = {
  name: 'page',
  text: `SELECT id, name, category_id AS "categoryId", status FROM pets WHERE status = $1 ORDER BY id DESC LIMIT 20`,
  values: ['available'],
}
// The columns and indexes of the service, without its triggers and the foreign key.
await pool.query('CREATE TABLE IF NOT EXISTS bare_pets (LIKE pets INCLUDING ALL)')
const insert = {
  name: 'insert',
  text: 'INSERT INTO bare_pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING id',
}

const list = async () => (await pool.query(page)).rows

async function create({ name, categoryId, status = 'available' }: Record<string, unknown>) {
  const { rows } = await pool.query({ ...insert, values: [name, categoryId, status] })
  return { id: rows[0].id, name, categoryId, status }
}

const server = createServer((request, response) => {
  const isCreate = request.method === 'POST'
  const result = isCreate ? json(request).then((input) => create(input as Record<string, unknown>)) : list()
  result.then(
    (value) => {
      const body = JSON.stringify(value)
      response.writeHead(isCreate ? 201 : 200, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
      })
      response.end(body)
    },
    (error: unknown) => {
      console.error(error)
      response.writeHead(500, { 'Content-Length': 0 }).end()
    },
  )
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
