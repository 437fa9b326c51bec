import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { cliOnNewDatabase, lines } from '../support/commands.ts'
import { jpeg, picture, png } from '../support/images.ts'
import { animalsIn } from '../support/importedStore.ts'
import { folderFor } from '../support/servers.ts'
import { loopbackAllowed } from '../support/webhookReceiver.ts'

type Page = Buffer | ((response: ServerResponse) => void)

/** A web server with the photos of another system. `requests` has the paths of all requests. */
async function photoServer(t: Pick<TestContext, 'after'>, pages: Record<string, Page>) {
  const requests: string[] = []
  const server = createServer(({ url = '' }, response) => {
    requests.push(url)
    const page = pages[url]
    if (typeof page === 'function') page(response)
    else response.writeHead(page ? 200 : 404).end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, pages }
}

const redirect = (location: string) => (response: ServerResponse) =>
  void response.writeHead(302, { location }).end()
const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')
const args = ['import', '--format', 'csv', '--create-categories', '--photos']
const header = 'Animal ID,Name,Species,Photo 1,Photo 2,Photo 3'
const none = { added: 0, unchanged: 0, removed: 0, failed: 0 }

describe('the photos of an imported file', { concurrency: 2 }, () => {
  test('are fetched once, and again only if their addresses change', async (t) => {
    const { url, requests } = await photoServer(t, {
      '/a': await jpeg(),
      '/b': await png(),
      '/c': await jpeg(300, 900),
      '/moved': redirect('/a?moved'),
      '/a?moved': await jpeg(),
    })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const first = csv(header, `1,Milo,Dog,${url}/a,${url}/b,`, `2,Luna,Dog,${url}/moved,,`, '3,Rex,Dog,,,')
    assert.deepEqual((await cli.json(args, first)).photos, { ...none, added: 3 })
    const sourcesOf = async (name: string) =>
      ((await animalsIn(cli))[name]?.photos ?? []).map(({ source }) => source.replace(url, ''))
    assert.deepEqual(await sourcesOf('Milo'), ['/a', '/b'])
    assert.deepEqual(await sourcesOf('Luna'), ['/moved'])

    const fetched = requests.length
    assert.deepEqual((await cli.json(args, first)).photos, { ...none, unchanged: 3 })
    assert.equal(requests.length, fetched)

    const output = await cli.ok(args, csv(header, `1,Milo,Dog,${url}/c,${url}/b,`, '2,Luna,Dog,,,'))
    assert.match(output, /\nPhotos: 1 added, 1 unchanged, 1 removed, 0 could not be imported\.\n/)
    assert.deepEqual(await sourcesOf('Milo'), ['/c', '/b'])
    assert.deepEqual(await sourcesOf('Luna'), ['/moved'], 'a blank cell says nothing')
    const [tall] = (await animalsIn(cli)).Milo?.photos ?? []
    assert.deepEqual([tall.width, tall.height], [300, 900])
  })

  test('stay known in another database', async (t) => {
    const { url, requests } = await photoServer(t, { '/a': await jpeg() })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const text = csv(header, `1,Milo,Dog,${url}/a,,`)
    await cli.ok(args, text)
    const other = await cliOnNewDatabase(t, loopbackAllowed)
    await other.ok(['import', '--with-keys'], await cli.export())
    assert.deepEqual((await other.json(args, text)).photos, { ...none, unchanged: 1 })
    assert.equal(requests.length, 1)
  })

  test('that cannot be imported are listed, and the others are imported', async (t) => {
    const { url, requests } = await photoServer(t, {
      '/good': await jpeg(),
      '/text': Buffer.from('hello'),
      '/broken': (await jpeg()).subarray(0, 500),
      '/large': (response) => void response.writeHead(200, { 'content-length': 20_000_000 }).flushHeaders(),
      '/endless': (response) => {
        response.on('drain', () => response.write(Buffer.alloc(1_000_000)))
        while (response.write(Buffer.alloc(1_000_000)));
      },
      '/loop': redirect('/loop'),
      '/inside': redirect('http://10.0.0.1/secret.jpg'),
      '/file': redirect('file:///etc/passwd'),
    })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const names = ['good', 'text', 'broken', 'large', 'endless', 'loop', 'inside', 'file', 'missing']
    const text = csv(
      'Animal ID,Name,Species,Photo',
      ...names.map((name, at) => `${at},${name},Dog,${url}/${name}`),
      '10,word,Dog,luna.jpg',
    )
    const { code, stdout, stderr } = await cli.run([...args, '--json'], text)
    assert.equal(code, 3)
    assert.deepEqual(JSON.parse(stdout).photos, { ...none, added: 1, failed: 9 })
    const problems = lines(stderr.replaceAll(url, '')).sort()
    const expected = [
      'Line 10: The photo /missing is left out. The response has the status 404.',
      'Line 11: The photo luna.jpg is left out. It is not an address. --photos-from takes photos from a folder.',
      'Line 3: The photo /text is left out. It is not a JPEG, PNG or WebP image.',
      'Line 4: The photo /broken is left out. The image is damaged or incomplete. Export it again.',
      'Line 5: The photo /large is left out. The file has more than 10 MiB.',
      'Line 6: The photo /endless is left out. The file has more than 10 MiB.',
      'Line 7: The photo /loop is left out. The address redirects more than 3 times.',
      'Line 8: The photo /inside is left out. The address is not on the public internet. The operator can allow it with PETSTORE_WEBHOOK_ALLOW.',
      'Line 9: The photo /file is left out. The address must begin with https.',
    ]
    assert.deepEqual(problems, expected)
    assert.equal(requests.filter((path) => path === '/loop').length, 4)
    assert.equal(Object.keys(await animalsIn(cli)).length, 10)
  })

  test('that cannot be imported are listed with the beginning of their address, up to 20', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const long = `data:text/plain,${'x'.repeat(100_000)}`
    const rows = Array.from({ length: 23 }, (_, at) => `${at},Pet ${at},Dog,"${long}",,`)
    const { code, stdout, stderr } = await cli.run([...args, '--json'], csv(header, ...rows))
    assert.deepEqual([code, JSON.parse(stdout).photos], [3, { ...none, failed: 23 }])
    const problems = lines(stderr)
    assert.equal(problems.length, 21)
    assert.equal(problems[20], '3 more photos were left out.')
    assert.match(problems[0] ?? '', /^Line \d+: The photo data:text\/plain,x{84}… is left out\. /)
  })

  test('are not fetched from an address that is not public, unless the operator allows it', async (t) => {
    const { url, requests } = await photoServer(t, { '/a': await jpeg() })
    const cli = await cliOnNewDatabase(t)
    const { stderr } = await cli.run(args, csv(header, `1,Milo,Dog,${url}/a,,`))
    assert.match(stderr, /The address is not on the public internet/)
    assert.deepEqual(requests, [])
  })

  test('can be in the file', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const bytes = (await picture(60, 40).jpeg().toBuffer()).toString('base64')
    const text = csv(
      'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALIMAGE',
      `1,Milo,Dog,"data:image/jpg;base64,${bytes}"`,
    )
    assert.deepEqual((await cli.json(args, text)).photos, { ...none, added: 1 })
    assert.deepEqual((await cli.json(args, text)).photos, { ...none, unchanged: 1 })
  })

  test('that were uploaded stay, and come first as before', async (t) => {
    const { url } = await photoServer(t, { '/a': await jpeg(), '/b': await jpeg() })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    await cli.ok(args, csv(header, `1,Milo,Dog,${url}/b,,`))
    const exported = lines(await cli.export()).map((line) => JSON.parse(line))
    const { source: _, ...photo } = exported.find(({ type }) => type === 'photo')
    const upload = { ...photo, id: 99, token: 'u'.repeat(22), position: -1 + 1 }
    const moved = { ...photo, position: 1 }
    await cli.ok(['import'], [moved, upload].map((each) => JSON.stringify(each)).join('\n'))
    const { photos } = await cli.json(args, csv(header, `1,Milo,Dog,${url}/a,${url}/b,`))
    assert.deepEqual(photos, { ...none, added: 1, unchanged: 1 })
    const sources = ((await animalsIn(cli)).Milo?.photos ?? []).map(({ source }) => source?.slice(-2))
    assert.deepEqual(sources, [undefined, '/a', '/b'])
  })
})

describe('the photos of a folder', { concurrency: 2 }, () => {
  const fromFolder = (folder: string) => [
    'import',
    '--format',
    'csv',
    '--create-categories',
    '--photos-from',
    folder,
  ]
  const sourcesIn = async (cli: { export(): Promise<string> }) =>
    Object.fromEntries(
      Object.entries(await animalsIn(cli)).map(([name, { photos }]) => [
        name,
        photos.map(({ source }) => source.replace(/#.*/, '')),
      ]),
    )

  test('are found by the cells, the number or the name of an animal', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const folder = folderFor(t)
    const image = await jpeg(40, 30)
    for (const name of [
      'A-1.jpg',
      'A-1-2.JPG',
      'A-1 (3).jpeg',
      'A-12.jpg',
      'luna.png',
      'Luna_2.png',
      'x y.webp',
      'Twin.jpg',
    ])
      writeFileSync(join(folder, name), image)
    const text = csv(
      'Animal ID,Name,Species,Photos',
      ...[
        'A-1,Milo,Dog,',
        'A-2,Luna,Dog,',
        'A-3,Rex,Dog,https://a.example/p/x%20y.webp?v=1',
        'A-4,Twin,Dog,',
      ],
      ...['A-5,Twin,Dog,', 'A-6,Bad,Dog,../../etc/none.jpg', 'A-7,Win,Dog,C:\\photos\\luna.png'],
    )
    const { code, stdout, stderr } = await cli.run([...fromFolder(folder), '--json'], text)
    assert.deepEqual([code, JSON.parse(stdout).photos], [3, { ...none, added: 7, failed: 1 }])
    assert.match(
      stderr,
      /^Line 7: The photo file:\.\.\/\.\.\/etc\/none\.jpg is left out\. There is no such file in the folder\.\n$/,
    )
    assert.deepEqual(await sourcesIn(cli), {
      Milo: ['file:A-1.jpg', 'file:A-1-2.JPG', 'file:A-1 (3).jpeg'],
      Luna: ['file:luna.png', 'file:Luna_2.png'],
      Rex: ['file:x y.webp'],
      Twin: [],
      Bad: [],
      Win: ['file:luna.png'],
    })
  })

  test('are up to 20 for each animal', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const folder = folderFor(t)
    const image = await jpeg(40, 30)
    for (let at = 1; at <= 22; at++) writeFileSync(join(folder, `Milo-${at}.jpg`), image)
    const { code, stdout, stderr } = await cli.run(
      [...fromFolder(folder), '--json'],
      csv('name,category', 'Milo,Dog'),
    )
    assert.deepEqual([code, JSON.parse(stdout).photos], [3, { ...none, added: 20, failed: 2 }])
    assert.deepEqual(lines(stderr), [
      'Line 2: The photo file:Milo-21.jpg is left out. An animal can have 20 photos.',
      'Line 2: The photo file:Milo-22.jpg is left out. An animal can have 20 photos.',
    ])
  })

  test('are imported again if the file has changed', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const folder = folderFor(t)
    const text = csv('name,category', 'Milo,Dog')
    writeFileSync(join(folder, 'milo.jpg'), await jpeg(40, 30))
    assert.deepEqual((await cli.json(fromFolder(folder), text)).photos, { ...none, added: 1 })
    const own = csv('Animal ID,name,category', '7,Milo II,Dog')
    writeFileSync(join(folder, '7.jpg'), await jpeg(40, 30))
    assert.deepEqual((await cli.json(fromFolder(folder), own)).photos, { ...none, added: 1 })
    assert.deepEqual((await cli.json(fromFolder(folder), own)).photos, { ...none, unchanged: 1 })
    writeFileSync(join(folder, '7.jpg'), await jpeg(30, 40))
    assert.deepEqual((await cli.json(fromFolder(folder), own)).photos, { ...none, added: 1, removed: 1 })
  })
})
