// The manifests for Docker Compose and Kubernetes: they parse, have no unknown fields, agree with the settings, and name what is there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { createToken, dashboard, tokens } from "../../src/admin/index.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { memoryStore } from "../../src/store/memory/index.js";

const ROOT = join(import.meta.dirname, "../..");
const text = (name: string) => readFileSync(join(ROOT, "ops", name), "utf8");
const GRACE_S = resolveSettings().settings.shutdownGraceMs / 1000 + 5;

// biome-ignore lint/suspicious/noExplicitAny: a document of YAML
type Any = any;
const documents: readonly Any[] = parseAllDocuments(text("kubernetes.yml")).map((one) => {
  expect(one.errors).toEqual([]);
  return one.toJS();
});
const kind = (name: string): Any => documents.find((one) => one.kind === name);
const keysOf = (of: object) => Object.keys(of).sort();

/** The fields that these kinds of object have, as far as they are used. A misspelt one would be dropped, or refused, by the server. */
const FIELDS: Readonly<Record<string, readonly [apiVersion: string, ...spec: string[]]>> = {
  Job: ["batch/v1", "backoffLimit", "ttlSecondsAfterFinished", "template"],
  Deployment: ["apps/v1", "selector", "strategy", "template"],
  Service: ["v1", "selector", "ports"],
  PodDisruptionBudget: ["policy/v1", "minAvailable", "selector"],
  ScaledObject: [
    "keda.sh/v1alpha1",
    "scaleTargetRef",
    "minReplicaCount",
    "maxReplicaCount",
    "pollingInterval",
    "cooldownPeriod",
    "triggers",
  ],
  TriggerAuthentication: ["keda.sh/v1alpha1", "secretTargetRef"],
};
const POD = ["containers", "restartPolicy", "terminationGracePeriodSeconds"];
const CONTAINER = [
  ...["command", "env", "envFrom", "image", "livenessProbe", "name", "ports"],
  ...["readinessProbe", "resources", "startupProbe"],
];
const PROBE = ["failureThreshold", "httpGet", "periodSeconds", "timeoutSeconds"];

test("the objects for Kubernetes have names, versions and fields that exist", () => {
  expect(documents.map((one) => one.kind).sort()).toEqual(keysOf(FIELDS));
  for (const { apiVersion, kind: of, metadata, spec } of documents) {
    const [version, ...fields] = FIELDS[of]!;
    expect([of, apiVersion, keysOf(spec)]).toEqual([of, version, fields.sort()]);
    expect(metadata.name).toMatch(/^[a-z][a-z0-9-]{0,62}$/);
    const pod = spec.template?.spec;
    if (pod) expect(keysOf(pod).filter((field) => !POD.includes(field))).toEqual([]);
    for (const container of pod?.containers ?? []) {
      expect(keysOf(container).filter((field) => !CONTAINER.includes(field))).toEqual([]);
      expect(container.command[0]).not.toBe("npm");
    }
  }
});

test("selectors, ports and references of the objects meet each other", () => {
  const { spec } = kind("Deployment");
  const [container] = spec.template.spec.containers;
  expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  expect(kind("Service").spec.selector).toEqual(spec.template.metadata.labels);
  expect(kind("PodDisruptionBudget").spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  expect(kind("Service").spec.ports[0].targetPort).toBe(container.ports[0].name);
  const scaled = kind("ScaledObject").spec;
  expect(scaled.scaleTargetRef.name).toBe(kind("Deployment").metadata.name);
  expect(scaled.triggers[0].authenticationRef.name).toBe(kind("TriggerAuthentication").metadata.name);
  // The autoscaler has the number; one in the Deployment would undo it with every deployment.
  expect(spec.replicas).toBeUndefined();
});

test("a pod has its grace and five seconds more; its probes and the autoscaler ask for what the admin API answers", async () => {
  const { spec } = kind("Deployment").spec.template;
  expect(spec.terminationGracePeriodSeconds).toBe(GRACE_S);
  const { url, valueLocation } = kind("ScaledObject").spec.triggers[0].metadata;
  const store = memoryStore();
  const api = dashboard({ store, auth: tokens(), hosts: [new URL(url).host] });
  for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
    const { httpGet, ...rest } = spec.containers[0][probe];
    expect(keysOf({ httpGet, ...rest }).filter((field) => !PROBE.includes(field))).toEqual([]);
    const headers = Object.fromEntries(httpGet.httpHeaders.map(({ name, value }: Any) => [name.toLowerCase(), value]));
    // As the kubelet sends it: to the address of the pod.
    const answer = await api.fetch(new Request(`http://10.1.2.3:4110${httpGet.path}`, { headers }));
    expect([probe, answer.status]).toEqual([probe, 200]);
  }
  const token = await createToken(store, { name: "autoscaler", may: ["see"] });
  const headers = { authorization: `Bearer ${token}`, host: new URL(url).host };
  const answer = await api.fetch(new Request(url, { headers }));
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ [valueLocation]: 0 });
  await api.close();
});

test("the services of Docker Compose migrate first, and nodes have their grace and five seconds more", () => {
  const { services, volumes, ...rest } = parse(text("compose.yml"));
  expect([rest, keysOf(services), keysOf(volumes)]).toEqual([{}, ["migrate", "node", "postgres"], ["data"]]);
  expect(services.node.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
  expect(services.migrate.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  expect(services.node.stop_grace_period).toBe(`${GRACE_S}s`);
  expect(services.node.command[0]).toBe("node");
  const fields = [
    "command",
    "depends_on",
    "environment",
    "healthcheck",
    "image",
    "init",
    "restart",
    "stop_grace_period",
  ];
  for (const service of Object.values(services) as object[]) {
    expect(keysOf(service).filter((field) => ![...fields, "volumes"].includes(field))).toEqual([]);
  }
});
