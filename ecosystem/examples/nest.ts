// NestJS: a module with a node as a provider. The provider is a factory without decorators; Nest's shutdown stops the node.
import "reflect-metadata";
import { Body, Controller, type DynamicModule, Get, Inject, Module, Param, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import { createNode, type Node, type NodeOptions, workflow } from "holdfast";
import { postgres } from "holdfast/postgres";

/** The token under which services get the node. */
const HOLDFAST = Symbol("holdfast");

// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
class HoldfastModule {
  static forRoot(url: string, programs: NodeOptions["programs"]): DynamicModule {
    const store = postgres(url);
    const node = {
      provide: HOLDFAST,
      useFactory: async () => {
        await store.migrate();
        const started = await createNode({ store, programs, signals: false });
        // Nest calls this of a provider's value.
        return Object.assign(started, {
          onApplicationShutdown: async () => {
            await started.stop();
            await store.close();
          },
        });
      },
    };
    return { module: HoldfastModule, global: true, providers: [node], exports: [HOLDFAST] };
  }
}

const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
  return ctx.step("charge", () => `charged ${input.cents} for ${input.id}`);
});

@Controller("orders")
class Orders {
  constructor(@Inject(HOLDFAST) private readonly node: Node) {}

  @Post()
  async start(@Body() body: { id: string; cents: number }) {
    const run = await this.node.start(order, body, { key: body.id });
    return { run: run.id };
  }

  @Get(":run")
  async read(@Param("run") id: string) {
    return { result: await this.node.run(id).result({ timeout: "5s" }) };
  }
}

@Module({
  imports: [HoldfastModule.forRoot(process.env["DATABASE_URL"]!, [order])],
  controllers: [Orders],
})
class AppModule {}

const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), { logger: false });
app.enableShutdownHooks(); // SIGTERM closes the application, and with it the node
await app.init();

const payload = { id: "o-1", cents: 300 };
const started = await app.inject({ method: "POST", url: "/orders", payload });
console.log(started.statusCode);
console.log((await app.inject({ url: `/orders/${started.json().run}` })).json());
await app.close();
