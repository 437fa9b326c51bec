/** One `pg` query per request over `node:http`, without key, rate limit or validation. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

const server = createServer((_request, response) => {
  pool.query(page).then(
    ({ rows }) => {
      const body = JSON.stringify(rows)
      response.writeHead(200, {
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
